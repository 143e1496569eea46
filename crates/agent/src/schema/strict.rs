//! Schemas in the subset that every provider's structured output accepts.
//!
//! All properties are required and no others allowed; optional ones are nullable;
//! choices use `anyOf` and `enum`. Bounds and patterns, which several providers reject,
//! move into the description; the response is validated against them afterwards.

use serde_json::{Map, Value, json};

use super::portable::{each_schema, make_portable};

/// The property that wraps a value that is not an object.
pub(crate) const WRAPPER: &str = "value";

/// Keywords that at least one provider rejects.
const BOUNDS: [&str; 13] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
];

/// A schema to send to providers.
pub(crate) struct StrictSchema {
    pub(crate) schema: Value,
    /// The type is not an object and is wrapped in one, as [`WRAPPER`].
    pub(crate) wrapped: bool,
    /// Every object is closed, so strict mode accepts the schema.
    pub(crate) closed: bool,
}

/// Converts a derived schema.
pub(crate) fn strict(mut schema: Value) -> StrictSchema {
    make_portable(&mut schema);
    each_schema(&mut schema, &mut |object| {
        object.remove("title");
        object.remove("default");
        object.remove("examples");
        normalize_choices(object);
        describe_bounds(object);
        split_types(object);
        close(object);
        normalize_true(object);
        isolate_reference(object);
    });
    let wrapped = schema.get("type").is_none_or(|kind| kind != "object");
    if wrapped {
        schema = wrap(schema);
    }
    let mut closed = true;
    each_schema(&mut schema, &mut |object| closed &= is_closed(object));
    StrictSchema {
        schema,
        wrapped,
        closed,
    }
}

/// Rewrites `const` to `enum` and `oneOf` to `anyOf`, which all providers support.
fn normalize_choices(object: &mut Map<String, Value>) {
    if let Some(value) = object.remove("const") {
        object.insert("enum".into(), json!([value]));
    }
    if !object.contains_key("anyOf")
        && let Some(choices) = object.remove("oneOf")
    {
        object.insert("anyOf".into(), choices);
    }
}

fn describe_bounds(object: &mut Map<String, Value>) {
    let mut notes = Vec::new();
    for bound in BOUNDS {
        if let Some(value) = object.remove(bound) {
            notes.push(format!("{bound}: {value}"));
        }
    }
    if notes.is_empty() {
        return;
    }
    let notes = format!("({})", notes.join(", "));
    let text = match object.get("description").and_then(Value::as_str) {
        Some(text) => format!("{text} {notes}"),
        None => notes,
    };
    object.insert("description".into(), text.into());
}

/// Rewrites `type: [a, b]` to an `anyOf`.
fn split_types(object: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = object.get("type") else {
        return;
    };
    let types = types.clone();
    let description = object.remove("description");
    let branches = types.iter().map(|kind| {
        let mut branch = object.clone();
        if kind == "null" {
            branch.clear();
        }
        if let Some(Value::Array(values)) = branch.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
        branch.insert("type".into(), kind.clone());
        close(&mut branch);
        Value::Object(branch)
    });
    let branches: Vec<Value> = branches.collect();
    object.clear();
    object.extend(description.map(|text| ("description".into(), text)));
    object.insert("anyOf".into(), branches.into());
}

/// Requires every named property and allows no other.
fn close(object: &mut Map<String, Value>) {
    if let Some(Value::Object(properties)) = object.get("properties") {
        let names: Vec<Value> = properties.keys().map(|name| name.as_str().into()).collect();
        object.insert("required".into(), names.into());
        object.insert("additionalProperties".into(), false.into());
    }
}

/// Rewrites the schema `true` to `{}`, because not every provider supports it.
fn normalize_true(object: &mut Map<String, Value>) {
    let anything = |schema: &mut Value| {
        if *schema == Value::Bool(true) {
            *schema = json!({});
        }
    };
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(anything);
    }
    if let Some(items) = object.get_mut("items") {
        anything(items);
    }
}

/// Moves a reference into an `anyOf`: strict mode allows no siblings.
fn isolate_reference(object: &mut Map<String, Value>) {
    if object.len() > 1
        && !object.contains_key("$defs")
        && let Some(reference) = object.remove("$ref")
    {
        object.insert("anyOf".into(), json!([{"$ref": reference}]));
    }
}

/// Wraps a schema in an object, because providers require one at the root.
fn wrap(mut schema: Value) -> Value {
    each_schema(&mut schema, &mut |object| {
        if object.get("$ref").is_some_and(|target| target == "#") {
            let inside = format!("#/properties/{WRAPPER}");
            object.insert("$ref".into(), inside.into());
        }
    });
    let definitions = schema.as_object_mut().and_then(|s| s.remove("$defs"));
    let mut root = json!({
        "type": "object",
        "properties": {WRAPPER: schema},
        "required": [WRAPPER],
        "additionalProperties": false,
    });
    if let (Some(definitions), Value::Object(root)) = (definitions, &mut root) {
        root.insert("$defs".into(), definitions);
    }
    root
}

fn is_closed(object: &Map<String, Value>) -> bool {
    let constraining = ["type", "anyOf", "enum", "$ref", "allOf"];
    let is_object = object.get("type").is_some_and(|kind| kind == "object");
    let closed = object.get("additionalProperties") == Some(&Value::Bool(false));
    constraining.iter().any(|key| object.contains_key(*key)) && (!is_object || closed)
}

#[cfg(test)]
mod tests {
    #![allow(dead_code, reason = "only the schemas are used")]

    use super::super::derived::of;
    use super::*;
    use schemars::JsonSchema;
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[test]
    fn all_properties_are_required_and_no_others_allowed() {
        #[derive(Deserialize, JsonSchema)]
        struct Person {
            /// As in the passport.
            name: String,
            #[schemars(range(max = 150))]
            age: Option<u8>,
            #[serde(default)]
            tags: Vec<String>,
        }
        let strict = strict(of::<Person>());
        let expected = json!({
            "type": "object",
            "properties": {
                "name": {"description": "As in the passport.", "type": "string"},
                "age": {
                    "description": "(minimum: 0, maximum: 150)",
                    "anyOf": [{"type": "integer"}, {"type": "null"}],
                },
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["name", "age", "tags"],
            "additionalProperties": false,
        });
        assert_eq!(strict.schema, expected);
        assert!(strict.closed && !strict.wrapped);
    }

    #[test]
    fn choices_become_any_of_and_enum() {
        #[derive(Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        enum Figure {
            Dot,
            Circle { radius: f64 },
        }
        #[derive(Deserialize, JsonSchema)]
        struct Drawing {
            shape: Figure,
        }
        let schema = strict(of::<Drawing>()).schema;
        let circle = json!({
            "type": "object",
            "properties": {
                "kind": {"type": "string", "enum": ["circle"]},
                "radius": {"type": "number"},
            },
            "required": ["kind", "radius"],
            "additionalProperties": false,
        });
        assert_eq!(schema["properties"]["shape"]["anyOf"][1], circle);
        assert!(!schema.to_string().contains("oneOf"));
    }

    #[test]
    fn recursive_types_refer_to_their_definition() {
        #[derive(Deserialize, JsonSchema)]
        struct Tree {
            label: String,
            children: Vec<Tree>,
        }
        #[derive(Deserialize, JsonSchema)]
        struct Forest {
            trees: Vec<Tree>,
        }
        let forest = strict(of::<Forest>());
        assert!(forest.closed);
        assert_eq!(
            forest.schema["$defs"]["Tree"]["properties"]["children"]["items"],
            json!({"$ref": "#/$defs/Tree"}),
        );
        let tree = strict(of::<Tree>());
        assert!(tree.closed, "{}", tree.schema);
        assert!(tree.schema.to_string().contains("$ref"));
    }

    #[test]
    fn a_type_that_is_not_an_object_is_wrapped_in_one() {
        let list = strict(of::<Vec<u8>>());
        assert!(list.wrapped);
        assert_eq!(list.schema["properties"]["value"]["type"], "array");

        #[derive(Deserialize, JsonSchema)]
        #[serde(untagged)]
        enum Nested {
            Leaf(i64),
            List(Vec<Nested>),
        }
        let nested = strict(of::<Nested>());
        assert!(nested.wrapped);
        crate::schema::SchemaChecker::new(&nested.schema)
            .unwrap()
            .check(&json!({"value": [1, [2, [3]]]}))
            .unwrap();
    }

    #[test]
    fn maps_and_arbitrary_values_are_not_closed() {
        assert!(!strict(of::<BTreeMap<String, i64>>()).closed);
        #[derive(Deserialize, JsonSchema)]
        struct Free {
            any: Value,
        }
        assert!(!strict(of::<Free>()).closed);
    }

    #[test]
    fn an_optional_enum_does_not_list_null() {
        #[derive(Deserialize, JsonSchema)]
        enum Colour {
            Red,
            Blue,
        }
        #[derive(Deserialize, JsonSchema)]
        struct Paint {
            colour: Option<Colour>,
        }
        let schema = strict(of::<Paint>()).schema;
        let red_or_blue = json!({"type": "string", "enum": ["Red", "Blue"]});
        let choices = &schema["properties"]["colour"]["anyOf"];
        assert_eq!(choices, &json!([red_or_blue, {"type": "null"}]));
    }
}
