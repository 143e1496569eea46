//! The kinds of values that the reader accepts, as JSON Schema.
//!
//! Any string may contain `${NAME}`, so every constraint on a string allows it.

use serde_json::{Map, Value, json};

/// Matches a string that contains a variable.
const VARIABLE: &str = r"\$\{";
/// `500ms`, `1h 30m`.
const DURATION: &str = r"^\s*(0|([0-9]+\s*[a-zA-Zµ]+\s*)+)$";
/// `4MB`, `32 MiB`, `512`.
const SIZE: &str = r"^\s*[0-9.]+\s*([kKmMgG]([iI]?[bB])?|[bB])?\s*$";

/// Additions to a shape.
pub(super) trait Shape {
    /// Excludes the empty string.
    fn non_empty(self) -> Self;
    /// Excludes the empty array.
    fn not_empty_list(self) -> Self;
}

impl Shape for Value {
    fn non_empty(mut self) -> Self {
        self["minLength"] = json!(1);
        self
    }

    fn not_empty_list(mut self) -> Self {
        self["minItems"] = json!(1);
        self
    }
}

pub(super) fn text(about: &str) -> Value {
    described(about, json!({ "type": "string" }))
}

/// A string of this form, or one with a variable.
pub(super) fn pattern(about: &str, form: &str) -> Value {
    let form = format!("{form}|{VARIABLE}");
    described(about, json!({ "type": "string", "pattern": form }))
}

pub(super) fn flag(about: &str) -> Value {
    described(about, json!({ "type": "boolean" }))
}

/// An integer within bounds; a very large upper bound is left out.
pub(super) fn count(about: &str, least: u64, most: u64) -> Value {
    let mut shape = json!({ "type": "integer", "minimum": least });
    if most < u64::MAX {
        shape["maximum"] = json!(most);
    }
    described(about, shape)
}

pub(super) fn decimal(about: &str, least: f64, most: f64) -> Value {
    let shape = json!({ "type": "number", "minimum": least, "maximum": most });
    described(about, shape)
}

pub(super) fn duration(about: &str) -> Value {
    pattern(about, DURATION)
}

/// A duration, `"off"` or `false`.
pub(super) fn duration_or_off(about: &str) -> Value {
    any_of(about, vec![duration(""), off()])
}

pub(super) fn bytes(about: &str) -> Value {
    any_of(about, vec![pattern("", SIZE), count("", 1, u64::MAX)])
}

/// A size, 0, `"off"` or `false`.
pub(super) fn bytes_or_off(about: &str) -> Value {
    let size = count("", 0, u64::MAX);
    any_of(about, vec![pattern("", SIZE), size, off()])
}

fn off() -> Value {
    json!({ "enum": ["off", false] })
}

/// One of these words, or a variable.
pub(super) fn choice<'w>(about: &str, words: impl IntoIterator<Item = &'w str>) -> Value {
    let words: Vec<&str> = words.into_iter().collect();
    let variable = json!({ "type": "string", "pattern": VARIABLE });
    any_of(about, vec![json!({ "enum": words }), variable])
}

pub(super) fn any_of(about: &str, shapes: Vec<Value>) -> Value {
    described(about, json!({ "anyOf": shapes }))
}

pub(super) fn list(about: &str, item: Value) -> Value {
    described(about, json!({ "type": "array", "items": item }))
}

/// A table with these keys and no others.
pub(super) fn table(about: &str, required: &[&str], keys: Vec<(&str, Value)>) -> Value {
    let keys: Map<String, Value> = keys
        .into_iter()
        .map(|(key, shape)| (key.to_owned(), shape))
        .collect();
    let mut shape = json!({
        "type": "object",
        "properties": keys,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        shape["required"] = json!(required);
    }
    described(about, shape)
}

/// A table whose keys are chosen by the user and match `names`.
pub(super) fn named(about: &str, names: &str, item: Value) -> Value {
    let shape = json!({
        "type": "object",
        "propertyNames": { "pattern": names },
        "additionalProperties": item,
    });
    described(about, shape)
}

fn described(about: &str, mut shape: Value) -> Value {
    if !about.is_empty() {
        shape["description"] = json!(about);
    }
    shape
}
