//! Promises of the original (structured output, the agent loop, skills) that no
//! other test here is about.

#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "a test that cannot go on fails; of some types only the schema is looked at"
)]

mod support;

use std::collections::BTreeMap;
use std::future::IntoFuture;

use majordomo::agent::{Agent, GenerateAs, Skill, SkillBuilder, StopReason, TypedOutput, calc};
use majordomo::fake::Step;
use majordomo::{ErrorKind, Json, OutputFormat, Provider, Registry, Request};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use support::{Log, call, calls, echo, fake, on};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Red,
    Blue,
}

#[derive(Deserialize, JsonSchema)]
struct Inner {
    on: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Everything {
    /// What people call it.
    #[serde(rename = "title")]
    name: String,
    #[serde(skip)]
    secret: String,
    count: i32,
    size: f64,
    inner: Inner,
    list: Vec<Inner>,
    pair: [i64; 2],
    map: BTreeMap<String, i64>,
    maybe: Option<Inner>,
    #[schemars(extend("format" = "date-time"))]
    at: String,
    any: Value,
    colour: Colour,
}

#[test]
fn every_kind_of_field_has_its_schema() {
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
            json!({"description": "What people call it.", "type": "string"}),
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
async fn a_schema_may_be_put_on_any_request_and_the_answer_is_json_text() {
    let fake = fake([Step::reply(r#"{"on": true}"#)]);
    let schema = Json::parse(r#"{"type": "object"}"#).unwrap();
    let request = Request::user("on?").schema(schema, "switch");
    let reply = fake.model("m").unwrap().generate(request).await.unwrap();
    assert_eq!(reply.text(), r#"{"on": true}"#);
    let OutputFormat::Schema(sent) = &fake.calls()[0].request.output else {
        panic!("no schema was sent")
    };
    assert_eq!(sent.name.as_deref(), Some("switch"));
}

#[tokio::test]
async fn the_schemas_name_is_that_of_the_type_or_response() {
    let fake = fake([Step::reply(r#"{"on": true}"#), Step::reply("{}")]);
    let model = fake.model("m").unwrap();
    let request = || Request::user("on?");
    model.generate_as::<Inner>(request()).await.unwrap();
    let nameless = TypedOutput::from_schema(Json::parse("{}").unwrap()).unwrap();
    nameless.generate(&*model, request()).await.unwrap();
    let names: Vec<Option<String>> = fake
        .calls()
        .iter()
        .map(|call| match &call.request.output {
            OutputFormat::Schema(sent) => sent.name.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, [Some("inner".into()), Some("response".into())]);
}

#[tokio::test]
async fn the_answer_is_trimmed_and_an_empty_one_is_an_error_that_names_the_model() {
    let fake = fake([Step::reply(" \n{\"on\": true}\t "), Step::reply(" \n")]);
    fake.otherwise(|_| Step::reply(""));
    let model = fake.model("m").unwrap();
    let inner: Inner = model.generate_as(Request::user("on?")).await.unwrap();
    assert!(inner.on);
    let error = model.generate_as::<Inner>(Request::user("on?")).await;
    let error = error.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().starts_with("fp/m: "), "{error}");
    assert!(error.to_string().contains("empty"), "{error}");
}

#[tokio::test]
async fn steps_are_counted_from_zero_and_tell_who_served_and_what_it_cost() {
    let fake = fake([call("a", "look"), Step::reply("done")]);
    let registry = Registry::empty();
    registry.register(fake);
    let agent = Agent::builder(registry.parse("fp/m").unwrap());
    let agent = agent.tool(echo("look")).build().unwrap();
    let outcome = agent.run("go").await.unwrap();
    let steps: Vec<_> = outcome
        .steps
        .iter()
        .map(|step| (step.index, step.model.as_str(), step.usage.total()))
        .collect();
    assert_eq!(steps, [(0, "fp/m", 12), (1, "fp/m", 2)]);
    assert_eq!(outcome.steps[0].attempt_log.calls(), 1);
}

#[tokio::test]
async fn observers_of_the_agent_and_of_the_run_hear_the_same() {
    let fake = fake([call("a", "look"), Step::reply("done")]);
    let (agents, runs) = (Log::default(), Log::default());
    let (of_agent, of_run) = (agents.clone(), runs.clone());
    let agent = on(&fake)
        .tool(echo("look"))
        .observe(move |event| of_agent.push(format!("{event:?}")))
        .build()
        .unwrap();
    let run = agent.run("go");
    let run = run.observe(move |event| of_run.push(format!("{event:?}")));
    run.await.unwrap();
    assert_eq!(agents.all(), runs.all());
    assert_eq!(agents.all().len(), 6);
}

#[tokio::test]
async fn one_agent_answers_several_runs_at_once() {
    let fake = fake([]);
    fake.otherwise(|call| match call.request.messages.len() {
        1 => self::call("a", "look"),
        _ => Step::reply(call.request.messages[0].text()),
    });
    let agent = on(&fake).tool(echo("look")).build().unwrap();
    let runs = ["one", "two", "three"].map(|input| {
        let agent = agent.clone();
        tokio::spawn(agent.run(input).into_future())
    });
    for (run, input) in runs.into_iter().zip(["one", "two", "three"]) {
        assert_eq!(run.await.unwrap().unwrap().output, input);
    }
}

#[tokio::test]
async fn tool_error_guards_are_off_unless_they_are_set() {
    let fake = fake([]);
    fake.otherwise(|_| calls(&[("", "missing", "{}")]));
    let agent = on(&fake).tool(echo("look")).build().unwrap();
    let error = agent.run("go").await.unwrap_err();
    assert!(matches!(error.reason(), StopReason::MaxSteps(10)));
}

#[tokio::test]
async fn a_skill_serves_several_agents() {
    let sums = SkillBuilder::new("sums")
        .instructions("Count well.")
        .toolbox(calc().toolbox().unwrap());
    let sums = sums.build().unwrap();
    for system in ["Be brief.", "Be kind."] {
        let sum = calls(&[("a", "calculate", r#"{"expression": "6 * 7"}"#)]);
        let fake = fake([sum, Step::reply("done")]);
        let agent = on(&fake).system(system).skill(&sums).build().unwrap();
        let outcome = agent.run("go").await.unwrap();
        let told = outcome.messages[2].tool_results().next().unwrap().text();
        assert_eq!(told, "42");
        let system_text = fake.calls()[0].request.system_text();
        assert_eq!(system_text, format!("{system}\n\nCount well."));
    }
}
