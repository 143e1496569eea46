//! Reads JSON that a model wrote, within bounds.
//!
//! Refuses what a careless reader would take for something else: nesting that
//! eats the stack, and objects with the same key twice, where the last one would
//! silently win.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Objects and arrays inside each other.
const DEEPEST: usize = 64;

/// Reads one JSON value, or says in a sentence why not.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Bounded { left: DEEPEST }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| error.to_string())
}

/// A value with so many levels left below it.
struct Bounded {
    left: usize,
}

impl Bounded {
    fn inner<E: de::Error>(&self) -> Result<Self, E> {
        match self.left.checked_sub(1) {
            Some(left) => Ok(Self { left }),
            None => Err(E::custom(format!("nested deeper than {DEEPEST} levels"))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Bounded {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded {
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
    fn a_key_that_occurs_twice_is_refused_at_any_level() {
        for text in [r#"{"a":1,"a":2}"#, r#"{"x":[{"b":1,"b":1}]}"#] {
            let error = read(text).unwrap_err();
            assert!(error.contains("occurs twice"), "{error}");
        }
    }

    #[test]
    fn nesting_is_bounded_at_64_levels() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(read(&nested(DEEPEST)).is_ok());
        let error = read(&nested(DEEPEST + 1)).unwrap_err();
        assert!(error.contains("deeper than 64"), "{error}");
        assert!(read(&nested(100_000)).is_err(), "without using the stack");
    }

    #[test]
    fn text_after_the_value_is_refused() {
        assert!(read(r#"{"a":1} and more"#).is_err());
        assert!(read("").is_err());
    }

    proptest! {
        #[test]
        fn whatever_it_reads_is_what_serde_json_reads(text in r#"[\[\]{}",:0-9a-z. -]{0,40}"#) {
            if let Ok(value) = read(&text) {
                prop_assert_eq!(value, serde_json::from_str::<Value>(&text).unwrap());
            }
        }
    }
}
