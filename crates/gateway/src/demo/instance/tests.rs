//! Instances of schemas, and the limits of the budget.

use proptest::prelude::*;

use super::super::budget::{MAX_BYTES, MAX_NODES};
use super::*;

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn simple_schemas_get_a_minimal_instance() {
    for (schema, instance) in [
        (
            r#"{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":18},"nick":{"type":"string"}},"required":["name","age"]}"#,
            r#"{"age":18,"name":"demo"}"#,
        ),
        (
            r#"{"type":"array","items":{"type":"boolean"},"minItems":2}"#,
            "[true,true]",
        ),
        (
            r#"{"type":"array","prefixItems":[{"const":1}],"items":{"const":2},"minItems":3}"#,
            "[1,2,2]",
        ),
        (
            r#"{"type":"object","properties":{"a":{"const":1},"b":{"const":2}},"required":["b"],"minProperties":3}"#,
            r#"{"a":1,"b":2,"demo1":true}"#,
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
        let made = instance_of(schema).unwrap();
        assert_eq!(read(&made), read(instance), "{schema}");
    }
}

#[test]
fn an_optional_recursion_ends_immediately() {
    let list = r##"{"type":"object","required":["next"],"properties":{"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}}"##;
    assert_eq!(instance_of(list).unwrap(), r#"{"next":null}"#);
}

#[test]
fn an_infinite_recursion_has_no_instance() {
    let list = r##"{"type":"object","required":["next"],"properties":{"next":{"$ref":"#"}}}"##;
    assert_eq!(instance_of(list), Err(InstanceError::Depth(MAX_DEPTH)));
}

/// Each of these would generate millions of values or bytes.
#[test]
fn multiplying_schemas_are_rejected() {
    let fan_out = |kind: &str, width: usize| {
        let level = |at: usize| {
            let next = if at == 5 {
                r#"{"type":"string"}"#.to_owned()
            } else {
                format!(r##"{{"$ref":"#/$defs/l{}"}}"##, at + 1)
            };
            let body = match kind {
                "required" => {
                    let names: Vec<String> = (0..width).map(|n| format!("\"p{n}\"")).collect();
                    let fields: Vec<String> =
                        (0..width).map(|n| format!("\"p{n}\":{next}")).collect();
                    format!(
                        r#"{{"type":"object","required":[{}],"properties":{{{}}}}}"#,
                        names.join(","),
                        fields.join(",")
                    )
                }
                "prefixItems" => {
                    let items = vec![next; width].join(",");
                    format!(r#"{{"type":"array","minItems":{width},"prefixItems":[{items}]}}"#)
                }
                "allOf" => format!(r#"{{"allOf":[{}]}}"#, vec![next; width].join(",")),
                _ => format!(r#"{{"type":"array","minItems":{width},"items":{next}}}"#),
            };
            format!(r#""l{at}":{body}"#)
        };
        let levels: Vec<String> = (0..=5).map(level).collect();
        let levels = levels.join(",");
        format!(r##"{{"$ref":"#/$defs/l0","$defs":{{{levels}}}}}"##)
    };
    let nested = {
        let inner = r#"{"type":"string"}"#.to_owned();
        (0..4).fold(inner, |items, _| {
            format!(r#"{{"type":"array","minItems":256,"items":{items}}}"#)
        })
    };
    let repeated = format!(r#"{{"const":"{}"}}"#, "x".repeat(10_000));
    for schema in [
        nested,
        fan_out("items", 30),
        fan_out("required", 30),
        fan_out("prefixItems", 30),
        r#"{"type":"string","minLength":18446744073709551615}"#.to_owned(),
        r#"{"type":"object","minProperties":18446744073709551615}"#.to_owned(),
        r#"{"type":"array","minItems":18446744073709551615}"#.to_owned(),
        format!(r#"{{"type":"array","minItems":200,"items":{repeated}}}"#),
        format!(r#"{{"const":"{}"}}"#, "\\u0001".repeat(40_000)),
    ] {
        let refused = instance_of(&schema);
        assert!(
            matches!(refused, Err(InstanceError::Nodes | InstanceError::Bytes)),
            "{} from {schema:.80}",
            refused.map_or_else(|error| error.to_string(), |made| made.len().to_string())
        );
    }
    // `allOf` keeps only the first string, so this one is small.
    assert!(instance_of(&fan_out("allOf", 2)).is_ok());
}

#[test]
fn an_oversized_schema_is_rejected() {
    let schema = format!(r#"{{"title":"{}"}}"#, "x".repeat(MAX_SCHEMA_BYTES));
    assert_eq!(
        instance_of(&schema),
        Err(InstanceError::Schema(MAX_SCHEMA_BYTES))
    );
}

/// Random nestings of all multiplying keywords.
fn hostile() -> impl Strategy<Value = Value> {
    let bound = prop_oneof![0..4_u64, 100..600_u64, Just(u64::MAX)];
    let reference = (0..4_u8).prop_map(|at| json!({"$ref": format!("#/$defs/d{at}")}));
    let leaf = prop_oneof![
        Just(json!({"$ref": "#"})),
        reference,
        (bound.clone(), "[a-z.*+]{0,9}").prop_map(
            |(least, pattern)| json!({"type": "string", "minLength": least, "pattern": pattern})
        ),
        "[\\x00-\\x20\"x]{0,400}".prop_map(|text| json!({"const": [text, {"k": text}]})),
        Just(json!({"type": "number", "multipleOf": 1e-300, "minimum": 1e300})),
        Just(json!(null)),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        let several = prop::collection::vec(inner.clone(), 1..6);
        prop_oneof![
            (inner.clone(), bound.clone())
                .prop_map(|(items, least)| json!({"type": "array", "minItems": least, "items": items})),
            (several.clone(), bound.clone()).prop_map(
                |(items, least)| json!({"type": "array", "minItems": least, "prefixItems": items})
            ),
            (several.clone(), bound.clone(), 0..40_usize).prop_map(|(fields, least, repeats)| {
                let names: Vec<String> = (0..fields.len()).map(|n| format!("p{n}")).collect();
                let required = vec![names.clone(); repeats].concat();
                let fields: Map<String, Value> = names.into_iter().zip(fields).collect();
                json!({"type": "object", "required": required, "properties": fields, "minProperties": least})
            }),
            several.clone().prop_map(|all| json!({"allOf": all})),
            several.clone().prop_map(|any| json!({"anyOf": any})),
            several.prop_map(|one| json!({"oneOf": one})),
        ]
    })
}

fn nodes(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(nodes).sum(),
        Value::Object(fields) => fields.values().map(nodes).sum(),
        _ => 0,
    }
}

proptest! {
    #[test]
    fn no_schema_exceeds_the_budget(
        root in hostile(),
        defs in prop::collection::vec(hostile(), 4),
    ) {
        let defs: Map<String, Value> =
            (0..).zip(defs).map(|(at, schema)| (format!("d{at}"), schema)).collect();
        let mut root = root;
        if let Some(fields) = root.as_object_mut() {
            fields.insert("$defs".to_owned(), Value::Object(defs));
        }
        if let Ok(made) = instance_of(&root.to_string()) {
            prop_assert!(made.len() <= MAX_BYTES, "{} bytes", made.len());
            let made = read(&made);
            prop_assert!(nodes(&made) <= MAX_NODES, "{} values", nodes(&made));
        }
    }
}
