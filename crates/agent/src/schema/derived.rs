//! Schemas derived from Rust types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

use super::portable::make_portable;

/// Returns the schema of a tool's arguments, as serde deserializes the type. Everything
/// but recursive types is inlined.
pub(crate) fn arguments_of<T: JsonSchema>() -> Value {
    let mut schema = of::<T>();
    if let Value::Object(object) = &mut schema {
        object.remove("title");
        // OpenAI rejects an object schema without `properties`.
        let is_object = object.get("type").is_some_and(|kind| kind == "object");
        if is_object && !object.contains_key("properties") {
            object.insert("properties".into(), Value::Object(Map::new()));
        }
    }
    make_portable(&mut schema);
    schema
}

/// Returns the schema of the type, as serde deserializes it.
pub(crate) fn of<T: JsonSchema>() -> Value {
    generator().into_root_schema_for::<T>().to_value()
}

fn generator() -> SchemaGenerator {
    let mut settings = SchemaSettings::draft2020_12();
    settings.meta_schema = None;
    // Not all targets support references.
    settings.inline_subschemas = true;
    settings.into_generator()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[test]
    fn arguments_keep_their_order_descriptions_and_optional_fields() {
        /// Searches.
        #[derive(Deserialize, JsonSchema)]
        #[allow(dead_code, reason = "only the schema is used")]
        struct Search {
            /// What to look for.
            query: String,
            limit: Option<u32>,
            deep: Deep,
        }
        #[derive(Deserialize, JsonSchema)]
        #[allow(dead_code, reason = "only the schema is used")]
        struct Deep {
            at: f64,
        }
        let expected = json!({
            "description": "Searches.",
            "type": "object",
            "properties": {
                "query": {"description": "What to look for.", "type": "string"},
                "limit": {"type": ["integer", "null"], "minimum": 0},
                "deep": {
                    "type": "object",
                    "properties": {"at": {"type": "number"}},
                    "required": ["at"],
                },
            },
            "required": ["query", "deep"],
        });
        let schema = arguments_of::<Search>();
        assert_eq!(schema, expected);
        let order: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(order, ["query", "limit", "deep"]);
    }

    #[test]
    fn a_tool_without_arguments_has_empty_properties() {
        let schema = arguments_of::<crate::NoArguments>();
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["properties"], json!({}));
    }
}
