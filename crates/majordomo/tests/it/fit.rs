//! A target that is known not to take a request is passed over without being
//! called, and without a penalty.

mod support;

use std::sync::Arc;

use majordomo::fake::Fake;
use majordomo::{
    BoxFuture, Capabilities, ErrorKind, EventStream, Json, Model, Output, Part, Provider, Request,
    Response, Tool, ToolCall, ToolResult,
};
use support::{House, lines};

fn picture() -> Request {
    Request::user("what is this?").part(Part::image("image/png", support::PNG))
}

/// Who serves when the head has these capabilities and the tail has no limits.
async fn server(head: Capabilities, request: Request) -> (String, House) {
    let house = House::new();
    house.fp.set_model_capabilities("head", head);
    let reply = house
        .chain("fp/head,tail/x")
        .generate(request)
        .await
        .expect("somebody serves");
    (reply.model, house)
}

async fn assert_passed_over(head: Capabilities, request: Request) {
    let (model, house) = server(head, request).await;
    assert_eq!(model, "tail/x");
    assert!(house.calls().is_empty(), "it was not even called");
    assert!(house.is_spotless("fp/head"));
}

#[tokio::test(start_paused = true)]
async fn a_text_only_target_lets_a_vision_target_serve_an_image() {
    let house = House::new();
    house
        .fp
        .set_model_capabilities("text-only", Capabilities::text_only());

    let reply = house
        .chain("fp/text-only,fp/vision")
        .generate(picture())
        .await
        .unwrap();

    assert_eq!(reply.model, "fp/vision");
    assert_eq!(
        lines(&reply.attempt_log),
        ["fp/text-only skipped", "fp/vision served"]
    );
    assert!(house.is_spotless("fp/text-only"));
    assert_eq!(house.calls(), ["vision"]);
}

#[tokio::test(start_paused = true)]
async fn a_text_only_target_serves_text() {
    let (model, _) = server(Capabilities::text_only(), Request::user("hi")).await;
    assert_eq!(model, "fp/head");
}

#[tokio::test(start_paused = true)]
async fn images_inside_tool_results_are_images() {
    let call = ToolCall::new("call_0", "look", "{}");
    let mut result = ToolResult::new(&call, "see");
    result.parts.push(Part::image("image/png", support::PNG));
    let request = Request::user("look")
        .message(majordomo::Message::assistant(Part::ToolCall(call)))
        .message(majordomo::Message::tool_results_message([result]));
    assert_passed_over(Capabilities::text_only(), request).await;
}

#[tokio::test(start_paused = true)]
async fn a_target_without_tools_is_passed_over_for_a_request_with_tools() {
    let toolless = Capabilities {
        tools: false,
        ..Capabilities::default()
    };
    assert_passed_over(toolless, Request::user("hi").tool(Tool::new("look"))).await;
}

#[tokio::test(start_paused = true)]
async fn a_target_without_schemas_gets_the_schema_in_words() {
    let loose = Capabilities {
        structured: false,
        ..Capabilities::default()
    };
    let schema = Json::parse(r#"{"type":"object"}"#).unwrap();
    let request = Request::user("hi").schema(schema, "answer");
    let (model, house) = server(loose, request).await;
    assert_eq!(model, "fp/head");
    let asked = house.fp.calls()[0].request.clone();
    assert_eq!(asked.output, Output::Text);
    assert!(asked.system_text().contains(r#"{"type":"object"}"#));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_window_cannot_hold_is_passed_over() {
    let small = Capabilities {
        context_window: Some(100),
        ..Capabilities::default()
    };
    let long = Request::user("word ".repeat(500));
    assert_passed_over(small.clone(), long).await;
    let (model, _) = server(small, Request::user("hi")).await;
    assert_eq!(model, "fp/head", "a short one fits");
}

#[tokio::test(start_paused = true)]
async fn a_generous_bound_on_the_answer_is_no_reason_to_pass_over() {
    let small = Capabilities {
        context_window: Some(1_000),
        ..Capabilities::default()
    };
    let (model, _) = server(small, Request::user("hi").max_tokens(5_000)).await;
    assert_eq!(model, "fp/head", "it may use less");
}

#[tokio::test(start_paused = true)]
async fn no_declared_window_holds_everything() {
    let long = Request::user("word ".repeat(500_000));
    let (model, _) = server(Capabilities::default(), long).await;
    assert_eq!(model, "fp/head");
}

#[tokio::test(start_paused = true)]
async fn when_nobody_can_take_the_request_the_error_says_why_for_each() {
    let house = House::new();
    house.fp.set_capabilities(Capabilities::text_only());
    let error = house
        .chain("fp/a,fp/b")
        .generate(picture())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    let text = error.to_string();
    for word in ["fp/a", "fp/b", "image"] {
        assert!(text.contains(word), "{word} in: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_chain_answers_for_the_capabilities_of_its_head() {
    let house = House::new();
    house
        .fp
        .set_model_capabilities("blind", Capabilities::text_only());
    assert!(!house.chain("fp/blind,fp/b").capabilities().takes_images());
    assert!(house.chain("fp/b,fp/blind").capabilities().takes_images());
}

/// A provider that counts tokens in its own way: ten thousand, whatever is asked.
struct Wordy(Fake);

impl Provider for Wordy {
    fn name(&self) -> &str {
        "wordy"
    }

    fn model(&self, id: &str) -> majordomo::Result<Arc<dyn Model>> {
        Ok(Arc::new(WordyModel(self.0.model(id)?)))
    }
}

struct WordyModel(Arc<dyn Model>);

impl Model for WordyModel {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn capabilities(&self) -> Arc<Capabilities> {
        self.0.capabilities()
    }

    fn generate(&self, request: Request) -> BoxFuture<'_, majordomo::Result<Response>> {
        self.0.generate(request)
    }

    fn events(&self, request: Request) -> BoxFuture<'_, majordomo::Result<EventStream>> {
        self.0.events(request)
    }

    fn estimate_tokens(&self, _: &Request) -> u64 {
        10_000
    }
}

#[tokio::test(start_paused = true)]
async fn a_models_own_estimate_decides_whether_a_request_fits() {
    let house = House::new();
    let fake = Fake::new("wordy");
    let window = |tokens| Capabilities {
        context_window: Some(tokens),
        ..Capabilities::default()
    };
    fake.set_model_capabilities("small", window(9_999));
    fake.set_model_capabilities("large", window(10_000));
    house.registry.register(Wordy(fake));
    assert_eq!(house.served_by("wordy/small,tail/x").await, "tail/x");
    assert_eq!(house.served_by("wordy/large,tail/x").await, "wordy/large");
}
