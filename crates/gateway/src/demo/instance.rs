//! The smallest value that satisfies a simple JSON Schema.

use serde_json::{Map, Value, json};

/// Schemas deeper than this are cut off with `null`.
const DEEPEST: usize = 16;
/// More items or characters than this are not made, whatever the schema wants.
const MOST: u64 = 256;

/// An instance as JSON text; `{}` for a text that is no schema.
pub(super) fn instance_of(schema: &str) -> String {
    let Ok(root) = serde_json::from_str::<Value>(schema) else {
        return "{}".to_owned();
    };
    Maker { root: &root }.make(&root, 0).to_string()
}

struct Maker<'a> {
    root: &'a Value,
}

impl Maker<'_> {
    fn make(&self, schema: &Value, depth: usize) -> Value {
        if depth > DEEPEST {
            return Value::Null;
        }
        if let Some(reference) = schema["$ref"].as_str() {
            let pointer = reference.strip_prefix('#').unwrap_or(reference);
            let target = self.root.pointer(pointer).unwrap_or(&Value::Null);
            return self.make(target, depth + 1);
        }
        let fixed = schema.get("const").or(schema["enum"].get(0));
        if let Some(value) = fixed.or(schema.get("default")) {
            return value.clone();
        }
        if let Some(all) = schema["allOf"].as_array() {
            return self.all_of(all, depth);
        }
        for choices in ["anyOf", "oneOf"] {
            if let Some(first) = schema[choices].as_array().and_then(|all| pick(all)) {
                return self.make(first, depth + 1);
            }
        }
        match type_of(schema) {
            "object" => self.object(schema, depth),
            "array" => self.array(schema, depth),
            "string" => Value::String(string(schema)),
            "integer" => json!(number(schema).ceil() as i64),
            "number" => json!(number(schema)),
            "boolean" => Value::Bool(true),
            _ => Value::Null,
        }
    }

    /// Objects are merged; of anything else the first is taken.
    fn all_of(&self, all: &[Value], depth: usize) -> Value {
        let mut merged = Map::new();
        for schema in all {
            match self.make(schema, depth + 1) {
                Value::Object(fields) => merged.extend(fields),
                other => return other,
            }
        }
        Value::Object(merged)
    }

    fn object(&self, schema: &Value, depth: usize) -> Value {
        let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
        let names = required.iter().filter_map(Value::as_str);
        let fields = names.map(|name| {
            let value = self.make(&schema["properties"][name], depth + 1);
            (name.to_owned(), value)
        });
        Value::Object(fields.collect())
    }

    fn array(&self, schema: &Value, depth: usize) -> Value {
        let least = schema["minItems"].as_u64().unwrap_or(0).min(MOST);
        let item = |_| self.make(&schema["items"], depth + 1);
        Value::Array((0..least).map(item).collect())
    }
}

/// The first choice that is not merely nothing.
fn pick(choices: &[Value]) -> Option<&Value> {
    let something = choices.iter().find(|choice| choice["type"] != "null");
    something.or(choices.first())
}

fn type_of(schema: &Value) -> &str {
    let named = match &schema["type"] {
        Value::String(name) => Some(name.as_str()),
        Value::Array(names) => names
            .iter()
            .filter_map(Value::as_str)
            .find(|n| *n != "null"),
        _ => None,
    };
    let guessed = || match schema {
        Value::Object(fields) if fields.contains_key("properties") => "object",
        Value::Object(fields) if fields.contains_key("items") => "array",
        // Anything goes, and a text is something.
        _ => "string",
    };
    named.unwrap_or_else(guessed)
}

fn string(schema: &Value) -> String {
    let text = match schema["format"].as_str() {
        Some("date") => "2026-01-01",
        Some("time") => "09:00:00Z",
        Some("date-time") => "2026-01-01T09:00:00Z",
        Some("email") => "demo@example.com",
        Some("uri") => "https://example.com",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        _ => "demo",
    };
    let bound = |name: &str| schema[name].as_u64().map(|n| n.min(MOST) as usize);
    let mut text = text.to_owned();
    while bound("minLength").is_some_and(|least| text.len() < least) {
        text.push('o');
    }
    text.truncate(bound("maxLength").unwrap_or(text.len()));
    text
}

fn number(schema: &Value) -> f64 {
    let bound = |name: &str| schema[name].as_f64();
    let least = bound("minimum").or(bound("exclusiveMinimum").map(|below| below + 1.0));
    let most = bound("maximum").or(bound("exclusiveMaximum").map(|above| above - 1.0));
    let number = least.unwrap_or_else(|| most.map_or(1.0, |most| most.min(1.0)));
    match bound("multipleOf").filter(|step| *step > 0.0) {
        Some(step) => (number / step).ceil() * step,
        None => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_schemas_get_the_smallest_instance() {
        for (schema, instance) in [
            (
                r#"{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":18},"nick":{"type":"string"}},"required":["name","age"]}"#,
                r#"{"age":18,"name":"demo"}"#,
            ),
            (
                r#"{"type":"array","items":{"type":"boolean"},"minItems":2}"#,
                "[true,true]",
            ),
            (r#"{"enum":["red","blue"]}"#, r#""red""#),
            (r#"{"const":7}"#, "7"),
            (r#"{"type":["null","string"],"minLength":6}"#, r#""demooo""#),
            (r#"{"anyOf":[{"type":"null"},{"type":"number"}]}"#, "1.0"),
            (
                r##"{"$ref":"#/$defs/p","$defs":{"p":{"type":"object","required":["d"],"properties":{"d":{"type":"string","format":"date"}}}}}"##,
                r#"{"d":"2026-01-01"}"#,
            ),
            (r#"{"type":"integer","multipleOf":5,"minimum":7}"#, "10"),
            ("{}", r#""demo""#),
            ("not json", "{}"),
        ] {
            let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            assert_eq!(read(&instance_of(schema)), read(instance), "{schema}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema =
            r##"{"type":"object","required":["next"],"properties":{"next":{"$ref":"#"}}}"##;
        assert!(instance_of(schema).ends_with('}'));
    }
}
