//! The server span of a request, and when it is exported.

use majordomo_testkit::{ClosedPort, Script, Upstream};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use serde_json::{Value, json};

use crate::collector::Collector;
use crate::test_gateway::TestGateway;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";
const ASK: &str = r#"{"model":"demo/text","messages":[{"role":"user","content":"hi"}]}"#;

#[tokio::test]
async fn a_request_is_a_server_span_with_its_route_rule_key_and_outcome() {
    let collector = Collector::start().await;
    let config = r#"
[[keys]]
name = "laptop"
key = "CANARY-client"
[providers.other]
kind = "demo"
[[routes]]
model = "coder"
services = [ { spec = "demo/text" } ]
[[routes.smart]]
name = "some tokens"
when = [ { position = "token", op = "ge", value = 1 } ]
services = [ { spec = "other/text" } ]
"#;
    let endpoint = format!("http://{}/custom", collector.address);
    let variables = [
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &*endpoint),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=a%20team"),
        ("OTEL_SERVICE_NAME", "front-door"),
    ];
    let gateway = TestGateway::start(config, &variables).await;
    let key = [("authorization", "Bearer CANARY-client")];
    let body = ASK.replace("demo/text", "coder");
    gateway.post("/v1/chat/completions", &key, &body).await;
    let (span, attempts) = gateway.spans(&collector).await;

    assert_eq!(span.name, "POST /v1/chat/completions");
    assert_eq!((span.kind, &*span.parent), (SpanKind::Server, ""));
    assert!(!span.failed);
    span.check(&[
        ("http.request.method", json!("POST")),
        ("http.route", json!("/v1/chat/completions")),
        ("http.response.status_code", json!(200)),
        ("majordomo.key.name", json!("laptop")),
        ("majordomo.dialect", json!("openai-chat")),
        ("majordomo.model", json!("coder")),
        ("majordomo.route", json!("coder")),
        ("majordomo.rule", json!("some tokens")),
        ("majordomo.target", json!("other/text")),
        ("majordomo.attempts", json!(1)),
        ("majordomo.outcome", json!("complete")),
        ("error.type", Value::Null),
    ]);
    assert!(span.get("majordomo.request.id").is_string());
    assert_eq!(attempts.len(), 1);
    assert_eq!(span.sender["service.name"], "front-door");
    assert_eq!(span.sender["service.version"], env!("CARGO_PKG_VERSION"));
    let batch = collector.batches().remove(0);
    assert_eq!(batch.path, "/custom");
    assert_eq!(batch.headers["x-tenant"], "a team");
    assert_eq!(batch.headers["content-type"], "application/x-protobuf");
}

#[tokio::test]
async fn the_model_name_in_a_path_is_not_part_of_the_span_name() {
    let collector = Collector::start().await;
    let gateway = TestGateway::reporting_to(&collector, "").await;
    let path = "/v1beta/models/demo%2Ftext:generateContent";
    let body = r#"{"contents":[{"parts":[{"text":"hi"}]}]}"#;
    gateway.post(path, &[], body).await;
    let (span, _) = gateway.spans(&collector).await;
    assert_eq!(span.name, "POST /v1beta/models/{model}:generateContent");
    assert_eq!(span.sender["service.name"], "majordomo");
}

#[tokio::test]
async fn a_client_error_is_recorded_but_is_not_a_span_error() {
    let collector = Collector::start().await;
    let gateway = TestGateway::reporting_to(&collector, "").await;
    gateway.post("/nowhere", &[], "{}").await;
    let (span, attempts) = gateway.spans(&collector).await;
    assert_eq!(span.name, "POST");
    assert!(!span.failed && attempts.is_empty());
    span.check(&[
        ("http.route", Value::Null),
        ("http.response.status_code", json!(404)),
        ("majordomo.outcome", json!("failed")),
    ]);
}

#[tokio::test]
async fn an_incoming_traceparent_is_the_parent() {
    let collector = Collector::start().await;
    let gateway = TestGateway::reporting_to(&collector, "").await;
    let parent = format!("00-{TRACE}-{SPAN}-01");
    gateway
        .post("/v1/chat/completions", &[("traceparent", &parent)], ASK)
        .await;
    let (span, attempts) = gateway.spans(&collector).await;
    assert_eq!((&*span.trace, &*span.parent), (TRACE, SPAN));
    assert_eq!(attempts[0].trace, TRACE);
}

#[tokio::test]
async fn providers_are_told_the_requests_own_span_and_id() {
    let collector = Collector::start().await;
    let served = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}]}"#;
    for parent in [None, Some(format!("00-{TRACE}-{SPAN}-01"))] {
        let script = Script::new().read_request();
        let script = script.respond(200, "application/json", served);
        let upstream = Upstream::start([script]).await;
        let config = format!(
            "[providers.up]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\napi_key = \"canary\"\n",
            upstream.address()
        );
        let before = collector.spans().len();
        let gateway = TestGateway::reporting_to(&collector, &config).await;
        let body = ASK.replace("demo/text", "up/m");
        let headers: Vec<(&str, &str)> = parent.iter().map(|it| ("traceparent", &**it)).collect();
        gateway.post("/v1/chat/completions", &headers, &body).await;
        gateway.stop().await;
        let spans = collector.spans().split_off(before);
        let own = spans.iter().find(|it| it.name.starts_with("POST")).unwrap();
        let head = upstream.requests()[0].head.to_lowercase();
        let told = format!("traceparent: 00-{}-{}-01\r\n", own.trace, own.id);
        assert!(head.contains(&told), "{told}: {head}");
        assert_eq!(own.trace == TRACE, parent.is_some());
        let id = own.get("majordomo.request.id");
        let told = format!("x-request-id: {}\r\n", id.as_str().unwrap());
        assert!(head.contains(&told), "{head}");
    }
}

#[tokio::test]
async fn a_malformed_traceparent_is_ignored() {
    let collector = Collector::start().await;
    let gateway = TestGateway::reporting_to(&collector, "").await;
    let parent = format!("00-{TRACE}-{SPAN}-01-more");
    let (status, _) = gateway
        .post("/v1/chat/completions", &[("traceparent", &parent)], ASK)
        .await;
    assert_eq!(status, 200);
    let (span, _) = gateway.spans(&collector).await;
    assert_ne!(span.trace, TRACE);
    assert_eq!(span.parent, "");
}

#[tokio::test]
async fn an_unsampled_parent_is_honoured() {
    let collector = Collector::start().await;
    let gateway = TestGateway::reporting_to(&collector, "").await;
    let parent = format!("00-{TRACE}-{SPAN}-00");
    gateway
        .post("/v1/chat/completions", &[("traceparent", &parent)], ASK)
        .await;
    gateway.stop().await;
    assert!(collector.spans().is_empty());
}

#[tokio::test]
async fn nothing_is_exported_when_disabled_or_without_an_endpoint() {
    let collector = Collector::start().await;
    let endpoint = format!("http://{}", collector.address);
    let address = ("OTEL_EXPORTER_OTLP_ENDPOINT", &*endpoint);
    let rows = [
        vec![address, ("OTEL_SDK_DISABLED", "true")],
        vec![
            address,
            ("OTEL_TRACES_EXPORTER", "none"),
            ("OTEL_METRICS_EXPORTER", "none"),
        ],
        vec![address, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
        vec![("OTEL_SERVICE_NAME", "gateway")],
    ];
    for variables in rows {
        let gateway = TestGateway::start("", &variables).await;
        let (status, _) = gateway.post("/v1/chat/completions", &[], ASK).await;
        assert_eq!(status, 200, "{variables:?}");
        gateway.stop().await;
        assert!(collector.batches().is_empty(), "{variables:?}");
    }
}

#[tokio::test]
async fn a_dead_collector_does_not_affect_requests() {
    let port = ClosedPort::hold();
    let endpoint = format!("http://{}", port.address());
    let gateway = TestGateway::start("", &[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]).await;
    for _ in 0..20 {
        let (status, _) = gateway.post("/v1/chat/completions", &[], ASK).await;
        assert_eq!(status, 200);
    }
    gateway.stop().await;
}
