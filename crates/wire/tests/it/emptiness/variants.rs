//! Removes, nulls and empties the fields of a JSON value.

use serde_json::Value;

/// A value with one field in one of its forms.
pub(crate) struct Variant {
    /// The field's JSON pointer and its form.
    pub(crate) name: String,
    pub(crate) value: Value,
}

/// Fields whose content belongs to the caller or the model, not to the dialect.
const OWN: &[&str] = &[
    "parameters",
    "schema",
    "input_schema",
    "parametersJsonSchema",
    "responseJsonSchema",
    "arguments",
    "args",
    "metadata",
    "labels",
    "logit_bias",
];

/// The JSON pointers of all object fields, outermost first.
pub(crate) fn fields(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(value, String::new(), &mut found);
    found
}

fn collect(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let pointer = format!("{at}/{key}");
                found.push(pointer.clone());
                if !OWN.contains(&key.as_str()) {
                    collect(value, pointer, found);
                }
            }
        }
        Value::Array(array) => {
            for (index, value) in array.iter().enumerate() {
                collect(value, format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// The forms of one field: absent, null, and empty if its type has that.
pub(crate) fn forms(value: &Value, field: &str) -> Vec<Variant> {
    let (parent, key) = field.rsplit_once('/').expect("a pointer has a slash");
    let with = |form: &str, put: Option<Value>| {
        let mut value = value.clone();
        let parent = value.pointer_mut(parent).and_then(Value::as_object_mut);
        let parent = parent.expect("the field has a parent");
        match put {
            Some(put) => parent.insert(key.to_owned(), put),
            None => parent.remove(key),
        };
        Variant {
            name: format!("{field} {form}"),
            value,
        }
    };
    let empty = match value.pointer(field) {
        Some(Value::String(_)) => Some(Value::String(String::new())),
        Some(Value::Array(_)) => Some(Value::Array(Vec::new())),
        Some(Value::Object(_)) => Some(Value::Object(serde_json::Map::new())),
        _ => None,
    };
    let mut forms = vec![with("absent", None), with("null", Some(Value::Null))];
    forms.extend(empty.map(|empty| with("empty", Some(empty))));
    forms
}

/// All forms of all fields.
pub(crate) fn variants(value: &Value) -> Vec<Variant> {
    let fields = fields(value);
    fields
        .iter()
        .flat_map(|field| forms(value, field))
        .collect()
}
