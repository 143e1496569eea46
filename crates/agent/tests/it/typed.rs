//! Typed responses from single models and chains.

use std::sync::Arc;

use majordomo::agent::{GenerateAs, ObjectItem, TypedOutput};
use majordomo::fake::{Beat, Fake, Step};
use majordomo::llm::{Accept, AttemptOutcome, OutputFormat, Rejection};
use majordomo::{
    Capabilities, Chain, Error, ErrorKind, Event, FinishReason, Model, Part, Provider, Registry,
    Request, Response, Role, ToolCall,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Person {
    name: String,
    #[schemars(range(max = 150))]
    age: u8,
}

const ADA: &str = r#"{"name": "Ada", "age": 36}"#;

fn ada() -> Person {
    Person {
        name: "Ada".into(),
        age: 36,
    }
}

fn fake(steps: impl IntoIterator<Item = Step>) -> Fake {
    let fake = Fake::new("fp");
    fake.enqueue("a", steps);
    fake
}

fn single(fake: &Fake) -> Arc<dyn Model> {
    fake.model("a").unwrap()
}

fn chain(fake: &Fake, spec: &str) -> Chain {
    let registry = Registry::empty();
    registry.register(fake.clone());
    registry.model(spec).unwrap()
}

fn without_structure() -> Capabilities {
    Capabilities::default().with_structured(false)
}

async fn ask(model: &dyn Model) -> Result<Person, Error> {
    model.generate_as::<Person>(Request::user("who?")).await
}

#[tokio::test]
async fn the_schema_is_sent_under_the_types_name_without_a_strict_flag() {
    let fake = fake([Step::reply(ADA)]);
    assert_eq!(ask(&*single(&fake)).await.unwrap(), ada());
    let request = &fake.calls()[0].request;
    let OutputFormat::Schema(sent) = &request.prompt().output else {
        panic!("{:?}", request.prompt().output)
    };
    assert_eq!(sent.name.as_deref(), Some("person"));
    assert_eq!(sent.strict, None);
    let schema: serde_json::Value = sent.schema.to().unwrap();
    assert_eq!(schema["required"], json!(["name", "age"]));
    assert_eq!(schema["additionalProperties"], false);
    assert!(request.prompt().system.is_empty());
}

#[tokio::test]
async fn strict_mode_is_opt_in_and_rejects_open_types() {
    let fake = fake([Step::reply(ADA)]);
    let output = TypedOutput::<Person>::new().unwrap().strict().unwrap();
    let request = Request::user("who?");
    output.generate(&*single(&fake), request).await.unwrap();
    let OutputFormat::Schema(sent) = fake.calls()[0].request.prompt().output.clone() else {
        panic!("no schema")
    };
    assert_eq!(sent.strict, Some(true));
    let map = TypedOutput::<std::collections::HashMap<String, u8>>::new().unwrap();
    assert_eq!(map.strict().unwrap_err().kind(), ErrorKind::Unsupported);
}

#[tokio::test]
async fn a_target_without_structured_output_receives_an_instruction() {
    let fake = fake([Step::reply(ADA)]);
    fake.set_capabilities(without_structure());
    assert_eq!(ask(&*single(&fake)).await.unwrap(), ada());
    let request = &fake.calls()[0].request;
    assert_eq!(request.prompt().output, OutputFormat::Text);
    assert!(
        request
            .prompt()
            .system_text()
            .contains(r#""required":["name","age"]"#)
    );
}

#[tokio::test]
async fn a_mixed_chain_sends_each_target_what_it_supports() {
    let fake = fake([Step::fail(Error::http(404, "gone"))]);
    fake.set_model_capabilities("a", without_structure());
    fake.enqueue("b", [Step::reply(ADA)]);
    let output = TypedOutput::<Person>::new().unwrap();
    let chain = chain(&fake, "fp/a,fp/b");
    let answer = output
        .generate(&chain, Request::user("who?"))
        .await
        .unwrap();
    let calls = fake.calls();
    assert_eq!(calls[0].request.prompt().output, OutputFormat::Text);
    assert!(matches!(
        calls[1].request.prompt().output,
        OutputFormat::Schema(_)
    ));
    assert!(calls[1].request.prompt().system.is_empty());
    let changes: Vec<String> = answer.response.attempt_log.attempts[0]
        .changes
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(changes, ["schema instructed"]);
}

#[tokio::test]
async fn code_fences_are_stripped() {
    let fake = fake([Step::reply(format!("Sure:\n```json\n{ADA}\n```"))]);
    assert_eq!(ask(&*single(&fake)).await.unwrap(), ada());
}

#[tokio::test]
async fn an_invalid_response_is_repaired_once_with_its_problems() {
    for on_chain in [false, true] {
        let fake = fake([
            Step::reply(r#"{"name": "Ada", "age": 200}"#),
            Step::reply(ADA),
        ]);
        let person = if on_chain {
            ask(&chain(&fake, "fp/a")).await
        } else {
            ask(&*single(&fake)).await
        };
        assert_eq!(person.unwrap(), ada());
        let repair = fake.calls()[1].request.prompt().messages.clone();
        let roles: Vec<Role> = repair.iter().map(|message| message.role).collect();
        assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
        assert!(repair[1].text().contains("200"));
        assert!(
            repair[2].text().contains("at /age: 200 is greater than"),
            "{}",
            repair[2].text()
        );
    }
}

#[tokio::test]
async fn repair_is_attempted_once_and_the_error_names_the_target() {
    let fake = fake([Step::reply("no"), Step::reply("still no"), Step::reply(ADA)]);
    let error = ask(&*single(&fake)).await.unwrap_err();
    assert_eq!(fake.call_count("a"), 2);
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(
        error
            .to_string()
            .starts_with("fp/a: the response was rejected: it is not valid JSON")
    );
    assert_eq!(error.partial().unwrap().text(), "still no");
}

#[tokio::test]
async fn a_chain_fails_over_after_the_repair() {
    let fake = fake([Step::reply("no"), Step::reply("no")]);
    fake.enqueue("b", [Step::reply(ADA)]);
    let output = TypedOutput::<Person>::new().unwrap();
    let chain = chain(&fake, "fp/a,fp/b");
    let answer = output
        .generate(&chain, Request::user("who?"))
        .await
        .unwrap();
    assert_eq!(
        (answer.value, answer.response.model.as_str()),
        (ada(), "fp/b")
    );
    assert_eq!(fake.call_count("a"), 2);
    let outcomes = &answer.response.attempt_log.attempts;
    assert!(matches!(outcomes[1].outcome, AttemptOutcome::Failed { .. }));
    assert_eq!(
        fake.calls()[2].request.prompt().messages.len(),
        1,
        "the next target receives the original request"
    );
}

#[tokio::test]
async fn a_truncated_response_and_a_tool_call_are_not_repaired() {
    let cut = Response::new(vec![Part::text(r#"{"name": "A"#)]).with_finish(FinishReason::Length);
    let asks = Response::new(vec![Part::ToolCall(ToolCall::new("x", "look", "{}"))]);
    for (response, expected) in [(cut, "token limit"), (asks, "called a tool")] {
        let fake = fake([Step::respond(response)]);
        let error = ask(&*single(&fake)).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(fake.call_count("a"), 1);
    }
}

#[tokio::test]
async fn a_refusal_ends_the_chain() {
    let refusal = Response::new(vec![Part::text("I will not.")]).with_finish(FinishReason::Refusal);
    let fake = fake([Step::respond(refusal)]);
    let error = ask(&chain(&fake, "fp/a,fp/b")).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("declined to answer: I will not."),
        "{error}"
    );
    assert_eq!(fake.call_count("b"), 0);
}

#[tokio::test]
async fn the_callers_accept_hook_still_applies() {
    struct NoAda;
    impl Accept for NoAda {
        fn accept(&self, response: &Response) -> Result<(), Rejection> {
            if !response.text().contains("Ada") {
                return Ok(());
            }
            Err(Rejection {
                reason: "anyone but Ada".into(),
                repair: Vec::new(),
            })
        }
    }
    for on_chain in [false, true] {
        let fake = fake([Step::reply(ADA)]);
        fake.enqueue("b", [Step::reply(r#"{"name": "Bo", "age": 1}"#)]);
        let request = Request::user("who?").accept(Arc::new(NoAda));
        if on_chain {
            let person: Person = chain(&fake, "fp/a,fp/b")
                .generate_as(request)
                .await
                .unwrap();
            assert_eq!(person.name, "Bo");
        } else {
            let error = single(&fake)
                .generate_as::<Person>(request)
                .await
                .unwrap_err();
            assert!(error.to_string().contains("anyone but Ada"), "{error}");
        }
    }
}

#[tokio::test]
async fn lists_are_requested_inside_an_object_and_accepted_either_way() {
    for text in [r#"{"value": ["a", "b"]}"#, r#"["a", "b"]"#] {
        let fake = fake([Step::reply(text)]);
        let names: Vec<String> = single(&fake)
            .generate_as(Request::user("names?"))
            .await
            .unwrap();
        assert_eq!(names, ["a", "b"]);
    }
}

#[tokio::test]
async fn usage_includes_the_repair_on_a_single_model() {
    let fake = fake([Step::reply("no"), Step::reply(ADA)]);
    let output = TypedOutput::<Person>::new().unwrap();
    let answer = output
        .generate(&*single(&fake), Request::user("who?"))
        .await;
    assert_eq!(answer.unwrap().response.usage.total(), 4);
}

fn in_deltas(deltas: &[&str]) -> Step {
    let texts = deltas.iter().map(|text| Event::Text((*text).into()));
    Step::events(texts.chain([Event::Finish(FinishReason::Stop)]))
}

#[tokio::test]
async fn a_stream_yields_the_growing_object() {
    let fake = fake([in_deltas(&[
        "```json\n{\"na",
        "me\": \"A",
        "da\", \"age\": 3",
        "6}\n```",
    ])]);
    let mut stream = single(&fake)
        .stream_as::<Person>(Request::user("who?"))
        .await
        .unwrap();
    let mut shown = Vec::new();
    let person = loop {
        match stream.next().await.unwrap().unwrap() {
            ObjectItem::Partial(value) => shown.push(value),
            ObjectItem::Done(answer) => break answer.value,
        }
    };
    let expected = [
        json!({}),
        json!({"name": "A"}),
        json!({"name": "Ada"}),
        json!({"name": "Ada", "age": 36}),
    ];
    assert_eq!(shown, expected);
    assert_eq!(person, ada());
    assert!(stream.next().await.is_none());
    assert!(stream.finish().await.is_err(), "it has ended");
}

#[tokio::test]
async fn a_broken_or_invalid_stream_ends_with_an_error_and_its_partial_response() {
    let broken =
        Step::events([Event::Text("{\"name\"".into())]).then(Beat::Fail(Error::http(500, "gone")));
    for step in [broken, in_deltas(&["{\"name\"", ": 3}"])] {
        let fake = fake([step]);
        let stream = single(&fake)
            .stream_as::<Person>(Request::user("who?"))
            .await
            .unwrap();
        let error = stream.finish().await.unwrap_err();
        assert!(error.partial().unwrap().text().starts_with("{\"name\""));
    }
}

#[tokio::test]
async fn long_responses_are_not_parsed_again_for_every_delta() {
    let delta = "\"0123456789\", ";
    let deltas: Vec<&str> = ["["]
        .into_iter()
        .chain([delta; 2_000])
        .chain(["\"end\"]"])
        .collect();
    let fake = fake([in_deltas(&deltas)]);
    let mut stream = single(&fake)
        .stream_as::<Vec<String>>(Request::user("list"))
        .await
        .unwrap();
    let mut shown = 0;
    while let Some(item) = stream.next().await {
        shown += usize::from(matches!(item.unwrap(), ObjectItem::Partial(_)));
    }
    assert!(shown < 600, "{shown} of 2002");
}
