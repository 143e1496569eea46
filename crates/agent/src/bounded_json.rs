//! Strict JSON parsing for text that a model wrote.
//!
//! Rejects deep nesting, and duplicate keys, of which the last would silently win.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Maximum nesting depth.
const MAX_DEPTH: usize = 64;

/// Parses one JSON value.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = BoundedSeed { left: MAX_DEPTH }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| error.to_string())
}

/// Deserializes a value with a limited depth.
struct BoundedSeed {
    /// Levels allowed below this value.
    left: usize,
}

impl BoundedSeed {
    fn inner<E: de::Error>(&self) -> Result<Self, E> {
        match self.left.checked_sub(1) {
            Some(left) => Ok(Self { left }),
            None => Err(E::custom(format!("nested deeper than {MAX_DEPTH} levels"))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for BoundedSeed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for BoundedSeed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("a number out of range"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.inner()?)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(de::Error::custom(format!("the key {key:?} occurs twice")));
            }
            let value = fields.next_value_seed(self.inner()?)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn duplicate_keys_are_rejected_at_any_level() {
        for text in [r#"{"a":1,"a":2}"#, r#"{"x":[{"b":1,"b":1}]}"#] {
            let error = parse(text).unwrap_err();
            assert!(error.contains("occurs twice"), "{error}");
        }
    }

    #[test]
    fn nesting_is_limited_to_64_levels() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        let error = parse(&nested(MAX_DEPTH + 1)).unwrap_err();
        assert!(error.contains("deeper than 64"), "{error}");
        assert!(
            parse(&nested(100_000)).is_err(),
            "without overflowing the stack"
        );
    }

    #[test]
    fn trailing_text_is_rejected() {
        assert!(parse(r#"{"a":1} and more"#).is_err());
        assert!(parse("").is_err());
    }

    proptest! {
        #[test]
        fn accepted_text_parses_to_the_same_value_as_serde_json(text in r#"[\[\]{}",:0-9a-z. -]{0,40}"#) {
            if let Ok(value) = parse(&text) {
                prop_assert_eq!(value, serde_json::from_str::<Value>(&text).unwrap());
            }
        }
    }
}
