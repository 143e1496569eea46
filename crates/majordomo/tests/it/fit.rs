//! A target that is known not to fit a request is skipped without a call or a penalty.

use std::sync::Arc;

use crate::support::{Fixture, lines};
use majordomo::fake::Fake;
use majordomo::llm::{ModelExtras, OutputFormat};
use majordomo::{
    BoxFuture, Capabilities, ErrorKind, EventStream, Json, Model, Part, Provider, Request,
    Response, Tool, ToolCall, ToolResult,
};

fn with_image() -> Request {
    Request::user("what is this?").part(Part::image("image/png", crate::support::PNG))
}

/// The serving target when the head has these capabilities and the tail has no limits.
async fn served_by(head: Capabilities, request: Request) -> (String, Fixture) {
    let fixture = Fixture::new();
    fixture.fp.set_model_capabilities("head", head);
    let reply = fixture
        .chain("fp/head,tail/x")
        .generate(request)
        .await
        .expect("a target serves");
    (reply.model, fixture)
}

async fn assert_skipped(head: Capabilities, request: Request) {
    let (model, fixture) = served_by(head, request).await;
    assert_eq!(model, "tail/x");
    assert!(fixture.calls().is_empty(), "it was not called");
    assert!(fixture.is_healthy("fp/head"));
}

#[tokio::test(start_paused = true)]
async fn a_text_only_target_lets_a_vision_target_serve_an_image() {
    let fixture = Fixture::new();
    fixture
        .fp
        .set_model_capabilities("text-only", Capabilities::text_only());

    let reply = fixture
        .chain("fp/text-only,fp/vision")
        .generate(with_image())
        .await
        .unwrap();

    assert_eq!(reply.model, "fp/vision");
    assert_eq!(
        lines(&reply.attempt_log),
        ["fp/text-only skipped", "fp/vision served"]
    );
    assert!(fixture.is_healthy("fp/text-only"));
    assert_eq!(fixture.calls(), ["vision"]);
}

#[tokio::test(start_paused = true)]
async fn a_text_only_target_serves_text() {
    let (model, _) = served_by(Capabilities::text_only(), Request::user("hi")).await;
    assert_eq!(model, "fp/head");
}

#[tokio::test(start_paused = true)]
async fn images_inside_tool_results_count_as_images() {
    let call = ToolCall::new("call_0", "look", "{}");
    let mut result = ToolResult::new(&call, "see");
    result
        .parts
        .push(Part::image("image/png", crate::support::PNG));
    let request = Request::user("look")
        .message(majordomo::Message::assistant(Part::ToolCall(call)))
        .message(majordomo::Message::tool_results_message([result]));
    assert_skipped(Capabilities::text_only(), request).await;
}

#[tokio::test(start_paused = true)]
async fn a_target_without_tools_is_skipped_for_a_request_with_tools() {
    let toolless = Capabilities::default().with_tools(false);
    assert_skipped(toolless, Request::user("hi").tool(Tool::new("look"))).await;
}

#[tokio::test(start_paused = true)]
async fn a_target_without_schemas_receives_the_schema_as_instructions() {
    let loose = Capabilities::default().with_structured(false);
    let schema = Json::parse(r#"{"type":"object"}"#).unwrap();
    let request = Request::user("hi").schema(schema, "answer");
    let (model, fixture) = served_by(loose, request).await;
    assert_eq!(model, "fp/head");
    let sent = fixture.fp.calls()[0].request.clone();
    assert_eq!(sent.prompt().output, OutputFormat::Text);
    assert!(sent.prompt().system_text().contains(r#"{"type":"object"}"#));
}

#[tokio::test(start_paused = true)]
async fn a_target_whose_context_window_is_too_small_is_skipped() {
    let small = Capabilities::default().with_context_window(Some(100));
    let long = Request::user("word ".repeat(500));
    assert_skipped(small.clone(), long).await;
    let (model, _) = served_by(small, Request::user("hi")).await;
    assert_eq!(model, "fp/head", "a short one fits");
}

#[tokio::test(start_paused = true)]
async fn a_large_max_tokens_does_not_skip_a_target() {
    let small = Capabilities::default().with_context_window(Some(1_000));
    let (model, _) = served_by(small, Request::user("hi").max_tokens(5_000)).await;
    assert_eq!(model, "fp/head", "it may use less");
}

#[tokio::test(start_paused = true)]
async fn an_undeclared_context_window_fits_every_request() {
    let long = Request::user("word ".repeat(500_000));
    let (model, _) = served_by(Capabilities::default(), long).await;
    assert_eq!(model, "fp/head");
}

#[tokio::test(start_paused = true)]
async fn when_no_target_fits_the_error_gives_a_reason_for_each() {
    let fixture = Fixture::new();
    fixture.fp.set_capabilities(Capabilities::text_only());
    let error = fixture
        .chain("fp/a,fp/b")
        .generate(with_image())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    let text = error.to_string();
    for word in ["fp/a", "fp/b", "image"] {
        assert!(text.contains(word), "{word} in: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_chain_reports_the_capabilities_of_its_head() {
    let fixture = Fixture::new();
    fixture
        .fp
        .set_model_capabilities("blind", Capabilities::text_only());
    assert!(!fixture.chain("fp/blind,fp/b").capabilities().takes_images());
    assert!(fixture.chain("fp/b,fp/blind").capabilities().takes_images());
}

/// A provider that estimates every request at ten thousand tokens.
struct Overestimating(Fake);

impl Provider for Overestimating {
    fn name(&self) -> &str {
        "wordy"
    }

    fn model(&self, id: &str) -> majordomo::Result<Arc<dyn Model>> {
        Ok(Arc::new(OverestimatingModel(self.0.model(id)?)))
    }
}

struct OverestimatingModel(Arc<dyn Model>);

impl Model for OverestimatingModel {
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

    fn extras(&self) -> Option<&dyn ModelExtras> {
        Some(self)
    }
}

impl ModelExtras for OverestimatingModel {
    fn own_estimate(&self, _: &Request) -> u64 {
        10_000
    }
}

#[tokio::test(start_paused = true)]
async fn the_models_token_estimate_decides_whether_a_request_fits() {
    let fixture = Fixture::new();
    let fake = Fake::new("wordy");
    let window = |tokens| Capabilities::default().with_context_window(Some(tokens));
    fake.set_model_capabilities("small", window(9_999));
    fake.set_model_capabilities("large", window(10_000));
    fixture.registry.register(Overestimating(fake));
    assert_eq!(fixture.served_by("wordy/small,tail/x").await, "tail/x");
    assert_eq!(fixture.served_by("wordy/large,tail/x").await, "wordy/large");
}
