//! Spans of attempts and describer calls.

use majordomo_testkit::{Script, Upstream};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use serde_json::{Value, json};

use crate::collector::Collector;
use crate::test_gateway::TestGateway;

const ANSWER: &str = r#"{"id":"chatcmpl-7","object":"chat.completion","created":1,"model":"m-2026","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":7}}}"#;
const IMAGE: &str = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";

fn answering(status: u16, body: &'static str) -> Script {
    let script = Script::new().read_request();
    script.respond(status, "application/json", body)
}

/// A provider `up` behind this upstream.
fn config(upstream: &Upstream, more: &str) -> String {
    let address = upstream.address();
    format!(
        "[providers.up]\nkind = \"openai\"\nbase_url = \"http://{address}/v1\"\n\
         api_key = \"CANARY\"\n{more}"
    )
}

fn chat_request(model: &str, more: &str) -> String {
    format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"hi"}}]{more}}}"#)
}

#[tokio::test]
async fn an_attempt_is_a_client_span_with_semantic_convention_attributes() {
    let upstream = Upstream::start([answering(200, ANSWER)]).await;
    let collector = Collector::start().await;
    let gateway = TestGateway::reporting_to(&collector, &config(&upstream, "")).await;
    let knobs = r#","temperature":0.5,"top_p":0.9,"seed":3,"max_completion_tokens":50,"reasoning_effort":"low""#;
    let body = chat_request("up/big/m", knobs);
    gateway.post("/v1/chat/completions", &[], &body).await;
    let (_, attempts) = gateway.spans(&collector).await;
    let [span] = &attempts[..] else {
        panic!("{attempts:#?}");
    };
    assert_eq!((&*span.name, span.kind), ("chat big/m", SpanKind::Client));
    assert!(!span.failed);
    span.check(&[
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.provider.name", json!("openai")),
        ("gen_ai.request.model", json!("big/m")),
        ("gen_ai.request.stream", json!(false)),
        ("gen_ai.request.max_tokens", json!(50)),
        ("gen_ai.request.temperature", json!(0.5)),
        ("gen_ai.request.top_p", json!(0.9)),
        ("gen_ai.request.top_k", Value::Null),
        ("gen_ai.request.seed", json!(3)),
        ("gen_ai.request.reasoning.level", json!("low")),
        ("gen_ai.output.type", json!("text")),
        ("gen_ai.response.id", json!("chatcmpl-7")),
        ("gen_ai.response.model", json!("m-2026")),
        ("gen_ai.response.finish_reasons", json!(["stop"])),
        ("gen_ai.response.time_to_first_chunk", Value::Null),
        ("gen_ai.usage.input_tokens", json!(100)),
        ("gen_ai.usage.output_tokens", json!(20)),
        ("gen_ai.usage.cache_read.input_tokens", json!(64)),
        ("gen_ai.usage.cache_write.input_tokens", Value::Null),
        ("gen_ai.usage.reasoning.output_tokens", json!(7)),
        ("server.address", json!("127.0.0.1")),
        ("server.port", json!(upstream.address().port())),
        ("majordomo.target", json!("up/big/m")),
        ("error.type", Value::Null),
    ]);
}

#[tokio::test]
async fn a_failover_is_two_spans_and_the_first_records_its_error() {
    let scripts = [answering(500, "{}"), answering(200, ANSWER)];
    let upstream = Upstream::start(scripts).await;
    let collector = Collector::start().await;
    let config = config(&upstream, "[chain]\nretries = 0\n");
    let gateway = TestGateway::reporting_to(&collector, &config).await;
    let body = chat_request("up/a,up/b", "");
    gateway.post("/v1/chat/completions", &[], &body).await;
    let (own, attempts) = gateway.spans(&collector).await;
    own.check(&[
        ("majordomo.attempts", json!(2)),
        ("majordomo.outcome", json!("complete")),
        ("majordomo.target", json!("up/b")),
    ]);
    let [first, second] = &attempts[..] else {
        panic!("{attempts:#?}");
    };
    assert_eq!((&*first.name, first.failed), ("chat a", true));
    first.check(&[
        ("error.type", json!("transient")),
        ("http.response.status_code", json!(500)),
        ("gen_ai.usage.input_tokens", Value::Null),
        ("gen_ai.response.id", Value::Null),
    ]);
    assert_eq!((&*second.name, second.failed), ("chat b", false));
    second.check(&[
        ("error.type", Value::Null),
        ("gen_ai.usage.input_tokens", json!(100)),
    ]);
    assert!(first.ended <= second.began, "one after the other");
}

#[tokio::test]
async fn a_skipped_target_is_named_and_has_no_span() {
    let upstream = Upstream::start([answering(200, ANSWER)]).await;
    let collector = Collector::start().await;
    let more = "[providers.up.models.blind]\nimages = false\n";
    let gateway = TestGateway::reporting_to(&collector, &config(&upstream, more)).await;
    let body = format!(
        r#"{{"model":"up/blind,up/b","messages":[{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"data:image/gif;base64,{IMAGE}"}}}}]}}]}}"#
    );
    gateway.post("/v1/chat/completions", &[], &body).await;
    let (own, attempts) = gateway.spans(&collector).await;
    own.check(&[("majordomo.skipped", json!(["up/blind: unsupported"]))]);
    assert_eq!(attempts.len(), 1, "{attempts:#?}");
}

const FIRST: &str = "data: {\"id\":\"chatcmpl-8\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m-2026\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"hel\"},\"finish_reason\":null}]}\n\n";
const REST: &str = "data: {\"id\":\"chatcmpl-8\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m-2026\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"length\"}]}\n\ndata: {\"id\":\"chatcmpl-8\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m-2026\",\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":2,\"total_tokens\":13}}\n\ndata: [DONE]\n\n";

#[tokio::test]
async fn a_stream_has_its_tokens_and_the_time_to_its_first_chunk() {
    let streaming = || {
        let script = Script::new().read_request().stream_head();
        script.chunk(FIRST).chunk(REST).last_chunk()
    };
    // The second client uses another dialect than the upstream.
    for (path, more) in [
        ("/v1/chat/completions", r#","stream":true"#),
        ("/v1/messages", r#","stream":true,"max_tokens":9"#),
    ] {
        let upstream = Upstream::start([streaming()]).await;
        let collector = Collector::start().await;
        let gateway = TestGateway::reporting_to(&collector, &config(&upstream, "")).await;
        gateway.post(path, &[], &chat_request("up/m", more)).await;
        let (own, attempts) = gateway.spans(&collector).await;
        own.check(&[("majordomo.outcome", json!("complete"))]);
        let [span] = &attempts[..] else {
            panic!("{attempts:#?}");
        };
        span.check(&[
            ("gen_ai.request.stream", json!(true)),
            ("gen_ai.response.id", json!("chatcmpl-8")),
            ("gen_ai.response.model", json!("m-2026")),
            ("gen_ai.response.finish_reasons", json!(["length"])),
            ("gen_ai.usage.input_tokens", json!(11)),
            ("gen_ai.usage.output_tokens", json!(2)),
        ]);
        let first = span.get("gen_ai.response.time_to_first_chunk").as_f64();
        let whole = (span.ended - span.began) as f64 / 1e9;
        let within = first.is_some_and(|first| first > 0.0 && first <= whole);
        assert!(within, "{first:?} of {whole} s");
    }
}

#[tokio::test]
async fn an_interrupted_stream_is_an_error_on_both_spans() {
    let broken = Script::new().read_request().stream_head();
    let upstream = Upstream::start([broken.chunk(FIRST).last_chunk()]).await;
    let collector = Collector::start().await;
    let gateway = TestGateway::reporting_to(&collector, &config(&upstream, "")).await;
    let body = chat_request("up/m", r#","stream":true"#);
    gateway.post("/v1/chat/completions", &[], &body).await;
    let (own, attempts) = gateway.spans(&collector).await;
    own.check(&[("error.type", json!("interrupted"))]);
    attempts[0].check(&[("error.type", json!("bad_response"))]);
    assert!(own.failed && attempts[0].failed);
}

#[tokio::test]
async fn an_exhausted_chain_is_an_error_with_its_status() {
    let upstream = Upstream::start([answering(500, "{}"), answering(500, "{}")]).await;
    let collector = Collector::start().await;
    let gateway = TestGateway::reporting_to(&collector, &config(&upstream, "")).await;
    let body = chat_request("up/m", "");
    let (status, _) = gateway.post("/v1/chat/completions", &[], &body).await;
    assert_eq!(status, 502);
    let (own, attempts) = gateway.spans(&collector).await;
    own.check(&[
        ("error.type", json!("502")),
        ("http.response.status_code", json!(502)),
        ("majordomo.outcome", json!("failed")),
    ]);
    assert!(own.failed);
    assert_eq!(attempts.len(), 2, "the retry has a span of its own");
}

/// By a target's own describer while the request is shaped for it, or by a rule before
/// any target is called.
#[tokio::test]
async fn a_describers_call_has_its_own_span() {
    let by_target = r#"
[[routes]]
model = "blind"
services = [ { spec = "demo/text", describe = "demo/vision" } ]
"#;
    let by_rule = r#"
[[routes]]
model = "blind"
services = [ { spec = "demo/text" } ]
[[routes.smart]]
name = "eyes for a blind model"
when = [ { position = "proxy_vision", op = "enabled" } ]
services = [ { spec = "demo/vision" } ]
"#;
    let body = format!(
        r#"{{"model":"blind","messages":[{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"data:image/gif;base64,{IMAGE}"}}}}]}}]}}"#
    );
    for (config, before) in [(by_target, false), (by_rule, true)] {
        let collector = Collector::start().await;
        let gateway = TestGateway::reporting_to(&collector, config).await;
        gateway.post("/v1/chat/completions", &[], &body).await;
        let (_, mut attempts) = gateway.spans(&collector).await;
        attempts.sort_by_key(|span| span.name.clone());
        let [response, describe] = &attempts[..] else {
            panic!("{attempts:#?}");
        };
        response.check(&[
            ("gen_ai.request.model", json!("text")),
            ("majordomo.purpose", json!("answer")),
        ]);
        describe.check(&[
            ("gen_ai.request.model", json!("vision")),
            ("gen_ai.provider.name", json!("demo")),
            ("majordomo.purpose", json!("describe")),
        ]);
        assert!(describe.get("gen_ai.usage.output_tokens").is_number());
        assert_eq!(describe.ended <= response.began, before, "{attempts:#?}");
    }
}

#[tokio::test]
async fn embeddings_are_a_separate_operation() {
    let response =
        r#"{"object":"list","data":[],"model":"e","usage":{"prompt_tokens":1,"total_tokens":1}}"#;
    let upstream = Upstream::start([answering(200, response)]).await;
    let collector = Collector::start().await;
    let gateway = TestGateway::reporting_to(&collector, &config(&upstream, "")).await;
    let body = r#"{"model":"up/e","input":"hi"}"#;
    gateway.post("/v1/embeddings", &[], body).await;
    let (_, attempts) = gateway.spans(&collector).await;
    assert_eq!(attempts[0].name, "embeddings e");
    attempts[0].check(&[
        ("gen_ai.operation.name", json!("embeddings")),
        ("gen_ai.output.type", Value::Null),
    ]);
}
