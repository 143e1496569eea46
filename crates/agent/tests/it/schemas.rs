//! Schemas derived from types, and how they are sent.

#![allow(dead_code, reason = "only the schemas of some types are used")]

use std::collections::BTreeMap;

use majordomo::agent::{GenerateAs, TypedOutput};
use majordomo::fake::Step;
use majordomo::llm::OutputFormat;
use majordomo::{ErrorKind, Json, Provider, Request};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::fake;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Red,
    Blue,
}

#[derive(Deserialize, JsonSchema)]
struct Toggle {
    on: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Everything {
    /// The display name.
    #[serde(rename = "title")]
    name: String,
    #[serde(skip)]
    secret: String,
    count: i32,
    size: f64,
    inner: Toggle,
    list: Vec<Toggle>,
    pair: [i64; 2],
    map: BTreeMap<String, i64>,
    maybe: Option<Toggle>,
    #[schemars(extend("format" = "date-time"))]
    at: String,
    any: Value,
    colour: Colour,
}

#[test]
fn every_field_type_has_its_schema() {
    let output = TypedOutput::<Everything>::new().unwrap();
    let schema: Value = output.schema().to().unwrap();
    let inner = json!({
        "type": "object",
        "properties": {"on": {"type": "boolean"}},
        "required": ["on"],
        "additionalProperties": false,
    });
    let fields = &schema["properties"];
    for (field, expected) in [
        (
            "title",
            json!({"description": "The display name.", "type": "string"}),
        ),
        ("count", json!({"type": "integer"})),
        ("size", json!({"type": "number"})),
        ("inner", inner.clone()),
        ("list", json!({"type": "array", "items": inner})),
        ("maybe", json!({"anyOf": [inner, {"type": "null"}]})),
        ("at", json!({"type": "string", "format": "date-time"})),
        ("colour", json!({"type": "string", "enum": ["red", "blue"]})),
    ] {
        assert_eq!(fields[field], expected, "{field}");
    }
    assert_eq!(fields["pair"]["items"], json!({"type": "integer"}));
    assert_eq!(
        fields["map"]["additionalProperties"],
        json!({"type": "integer"})
    );
    assert!(fields["any"].get("type").is_none(), "{}", fields["any"]);
    let required = schema["required"].as_array().unwrap();
    assert_eq!(required.len(), 11, "all but the skipped one: {required:?}");
    assert_eq!(schema["additionalProperties"], false);
}

#[tokio::test]
async fn any_request_may_carry_a_schema_and_the_response_is_json_text() {
    let fake = fake([Step::reply(r#"{"on": true}"#)]);
    let schema = Json::parse(r#"{"type": "object"}"#).unwrap();
    let request = Request::user("on?").schema(schema, "switch");
    let reply = fake.model("m").unwrap().generate(request).await.unwrap();
    assert_eq!(reply.text(), r#"{"on": true}"#);
    let calls = fake.calls();
    let OutputFormat::Schema(sent) = &calls[0].request.prompt().output else {
        panic!("no schema was sent")
    };
    assert_eq!(sent.name.as_deref(), Some("switch"));
}

#[tokio::test]
async fn a_schema_is_named_after_its_type_or_response() {
    let fake = fake([Step::reply(r#"{"on": true}"#), Step::reply("{}")]);
    let model = fake.model("m").unwrap();
    let request = || Request::user("on?");
    model.generate_as::<Toggle>(request()).await.unwrap();
    let nameless = TypedOutput::from_schema(Json::parse("{}").unwrap()).unwrap();
    nameless.generate(&*model, request()).await.unwrap();
    let names: Vec<Option<String>> = fake
        .calls()
        .iter()
        .map(|call| match &call.request.prompt().output {
            OutputFormat::Schema(sent) => sent.name.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, [Some("toggle".into()), Some("response".into())]);
}

#[tokio::test]
async fn whitespace_is_trimmed_and_an_empty_response_is_an_error_with_its_target() {
    let fake = fake([Step::reply(" \n{\"on\": true}\t "), Step::reply(" \n")]);
    fake.otherwise(|_| Step::reply(""));
    let model = fake.model("m").unwrap();
    let inner: Toggle = model.generate_as(Request::user("on?")).await.unwrap();
    assert!(inner.on);
    let error = model.generate_as::<Toggle>(Request::user("on?")).await;
    let error = error.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().starts_with("fp/m: "), "{error}");
    assert!(error.to_string().contains("empty"), "{error}");
}
