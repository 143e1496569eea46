//! Schemas in the form that every provider's structured output takes.
//!
//! Every property required, no others allowed, optional ones nullable, one
//! spelling for choices. Bounds and patterns, which several providers refuse,
//! move into the description; the answer is checked against them afterwards.

use serde_json::{Map, Value, json};

use super::portable::{each_schema, make_portable};

/// The property that holds an answer which is no object itself.
pub(crate) const WRAPPER: &str = "value";

/// Keywords that at least one provider refuses.
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

/// A schema to send.
pub(crate) struct Strict {
    pub(crate) schema: Value,
    /// The type is no object, so it is inside one, as [`WRAPPER`].
    pub(crate) wrapped: bool,
    /// Every object is closed, so a provider's strict mode takes it.
    pub(crate) closed: bool,
}

/// Makes a derived schema strict.
pub(crate) fn strict(mut schema: Value) -> Strict {
    make_portable(&mut schema);
    each_schema(&mut schema, &mut |object| {
        object.remove("title");
        object.remove("default");
        object.remove("examples");
        spell_choices(object);
        describe_bounds(object);
        split_types(object);
        close(object);
        spell_anything(object);
        isolate_reference(object);
    });
    let wrapped = schema.get("type").is_none_or(|kind| kind != "object");
    if wrapped {
        schema = wrap(schema);
    }
    let mut closed = true;
    each_schema(&mut schema, &mut |object| closed &= is_closed(object));
    Strict {
        schema,
        wrapped,
        closed,
    }
}

/// `const` is an `enum` of one, `oneOf` an `anyOf`: the spellings that all know.
fn spell_choices(object: &mut Map<String, Value>) {
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

/// `type: [a, b]` is an `anyOf` of both.
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

/// `true` is the schema of anything, which not every provider reads.
fn spell_anything(object: &mut Map<String, Value>) {
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

/// A reference stands alone in strict mode; what is beside it moves outside.
fn isolate_reference(object: &mut Map<String, Value>) {
    if object.len() > 1
        && !object.contains_key("$defs")
        && let Some(reference) = object.remove("$ref")
    {
        object.insert("anyOf".into(), json!([{"$ref": reference}]));
    }
}

/// Puts a schema into an object, since providers want one at the root.
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
    let says_something = ["type", "anyOf", "enum", "$ref", "allOf"];
    let is_object = object.get("type").is_some_and(|kind| kind == "object");
    let shut = object.get("additionalProperties") == Some(&Value::Bool(false));
    says_something.iter().any(|key| object.contains_key(*key)) && (!is_object || shut)
}

#[cfg(test)]
mod tests {
    #![allow(dead_code, reason = "only the types' schemas are looked at")]

    use super::super::derive::of;
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
    fn choices_are_spelled_with_any_of_and_enum() {
        #[derive(Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        enum Shape {
            Dot,
            Circle { radius: f64 },
        }
        #[derive(Deserialize, JsonSchema)]
        struct Drawing {
            shape: Shape,
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
    fn what_is_no_object_is_put_into_one() {
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
        crate::schema::Checker::new(&nested.schema)
            .unwrap()
            .check(&json!({"value": [1, [2, [3]]]}))
            .unwrap();
    }

    #[test]
    fn maps_and_free_values_are_sent_and_known_not_to_be_closed() {
        assert!(!strict(of::<BTreeMap<String, i64>>()).closed);
        #[derive(Deserialize, JsonSchema)]
        struct Free {
            any: Value,
        }
        assert!(!strict(of::<Free>()).closed);
    }

    #[test]
    fn an_optional_choice_has_no_null_among_its_values() {
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
