//! Parses the values of conditions; numbers and booleans may be given as strings.

use serde_json::{Map, Value};

use super::error::InvalidValue;

/// Parses a non-empty string.
pub(super) fn text(value: Option<&Value>) -> Result<&str, InvalidValue> {
    match value {
        Some(Value::String(text)) if !text.is_empty() => Ok(text),
        Some(Value::String(_)) => Err(InvalidValue::new("the string must not be empty")),
        Some(other) => Err(wrong_kind("a string", other)),
        None => Err(InvalidValue::new("a string is required: `value = \"…\"`")),
    }
}

/// Parses a non-negative integer.
pub(super) fn number(value: Option<&Value>) -> Result<u64, InvalidValue> {
    let read = match value {
        Some(Value::Number(number)) => number.as_u64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(other) => return Err(wrong_kind("a non-negative integer", other)),
        None => return Err(InvalidValue::new("a number is required: `value = 1000`")),
    };
    read.ok_or_else(|| {
        let written = value.map(Value::to_string).unwrap_or_default();
        InvalidValue::new(format!("{written} is not a non-negative integer"))
    })
}

/// Parses a boolean; a missing or empty value means `true`.
pub(super) fn switch(value: Option<&Value>) -> Result<bool, InvalidValue> {
    match value {
        None => Ok(true),
        Some(Value::Bool(on)) => Ok(*on),
        Some(Value::String(text)) => match text.as_str() {
            "" | "true" => Ok(true),
            "false" => Ok(false),
            other => {
                let bad = InvalidValue::new(format!("expected true or false, found `{other}`"));
                Err(bad.nearest(other, ["true", "false"]))
            }
        },
        Some(other) => Err(wrong_kind("true or false", other)),
    }
}

/// Parses a table, also from JSON text, which other gateways store.
pub(super) fn table(
    value: Option<&Value>,
    example: &str,
) -> Result<Map<String, Value>, InvalidValue> {
    let parsed;
    let value = match value {
        Some(Value::String(text)) => {
            parsed = serde_json::from_str(text)
                .map_err(|_| InvalidValue::new(format!("expected a table: `value = {example}`")))?;
            Some(&parsed)
        }
        value => value,
    };
    match value {
        Some(Value::Object(table)) => Ok(table.clone()),
        Some(other) => Err(wrong_kind(&format!("a table such as `{example}`"), other)),
        None => Err(InvalidValue::new(format!(
            "a table is required: `value = {example}`"
        ))),
    }
}

/// Rejects unknown fields of a table.
pub(super) fn only_fields(table: &Map<String, Value>, known: &[&str]) -> Result<(), InvalidValue> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => {
            let bad = InvalidValue::new(format!(
                "unknown field `{key}`; expected one of {}",
                listed(known)
            ));
            Err(bad.nearest(key, known.iter().copied()))
        }
        None => Ok(()),
    }
}

/// Formats names as `` `a`, `b` or `c` ``.
pub(super) fn listed(words: &[&str]) -> String {
    match words {
        [] => "none".to_owned(),
        [one] => format!("`{one}`"),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(|word| format!("`{word}`")).collect();
            format!("{} or `{last}`", first.join(", "))
        }
    }
}

fn wrong_kind(wanted: &str, found: &Value) -> InvalidValue {
    let found = match found {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    };
    InvalidValue::new(format!("expected {wanted}, found {found}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_integers_and_may_be_strings() {
        for (value, expected) in [
            (json!(60_000), Some(60_000)),
            (json!("60000"), Some(60_000)),
            (json!("abc"), None),
            (json!(-1), None),
            (json!(1.5), None),
            (json!(""), None),
            (json!([1]), None),
        ] {
            assert_eq!(number(Some(&value)).ok(), expected, "{value}");
        }
        assert!(number(None).is_err());
    }

    #[test]
    fn booleans_default_to_true() {
        for (value, expected) in [
            (json!(""), Some(true)),
            (json!(true), Some(true)),
            (json!("true"), Some(true)),
            (json!(false), Some(false)),
            (json!("false"), Some(false)),
            (json!("invalid"), None),
            (json!(1), None),
        ] {
            assert_eq!(switch(Some(&value)).ok(), expected, "{value}");
        }
        assert_eq!(switch(None), Ok(true));
    }

    #[test]
    fn strings_must_not_be_empty() {
        assert_eq!(text(Some(&json!("gpt"))), Ok("gpt"));
        for value in [json!(""), json!(1), json!(null)] {
            assert!(text(Some(&value)).is_err(), "{value}");
        }
    }

    #[test]
    fn an_unknown_field_of_a_table_comes_with_the_nearest_known_one() {
        let table = table(Some(&json!({"strat": "09:00"})), "{}").unwrap();
        let bad = only_fields(&table, &["start", "end"]).unwrap_err();
        assert_eq!(bad.suggestion.as_deref(), Some("start"));
        assert!(bad.message.contains("`start` or `end`"), "{}", bad.message);
    }
}
