//! Fields and endpoints that pass through unchanged or are rejected.

use majordomo::{Part, Response};
use majordomo_testkit::{Script, Upstream};
use majordomo_wire::{Protocol, with_model};

use crate::serve::responses::error_of;
use crate::serve::test_gateway::TestGateway;
use crate::serve::wires;

async fn up(protocol: Protocol, script: Script) -> (Upstream, TestGateway) {
    let upstream = Upstream::start([script]).await;
    let gateway = TestGateway::start(&wires::provider("up", protocol, upstream.address())).await;
    (upstream, gateway)
}

fn answering(body: &'static str) -> Script {
    let script = Script::new().read_request();
    script.respond(200, "application/json", body).times(9)
}

#[tokio::test]
async fn tokens_are_counted_by_a_target_that_supports_it() {
    let messages = r#"{"model":"up/m0","messages":[{"role":"user","content":"hi"}]}"#;
    let gemini = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#;
    let rows = [
        (Protocol::Messages, r#"{"input_tokens":42}"#),
        (Protocol::Gemini, r#"{"totalTokens":42}"#),
        // Chat has no counting endpoint: tokens are estimated.
        (Protocol::Chat, ""),
    ];
    for (provider, counted) in rows {
        let (upstream, gateway) = up(provider, answering(counted)).await;
        let received = [
            ("/v1/messages/count_tokens", messages, "input_tokens"),
            ("/v1beta/models/up/m0:countTokens", gemini, "totalTokens"),
        ];
        for (path, body, field) in received {
            let reply = gateway.post(path, body).await;
            assert_eq!(reply.status, 200, "{path}: {}", reply.text());
            let value: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
            let tokens = value[field].as_u64().expect("a number");
            match provider {
                Protocol::Chat => assert!((1..20).contains(&tokens), "{path}: {value}"),
                _ => assert_eq!(tokens, 42, "{path}: {value}"),
            }
        }
        let expected = if provider == Protocol::Chat { 0 } else { 2 };
        assert_eq!(upstream.requests().len(), expected, "{provider:?}");
    }
}

#[tokio::test]
async fn embeddings_pass_through_unchanged() {
    let rows = [
        (
            Protocol::Chat,
            "/v1/embeddings",
            "/v1/embeddings",
            r#"{"object":"list","data":[{"embedding":[0.10,2e0]}],"odd":1.0}"#,
        ),
        (
            Protocol::Ollama,
            "/api/embed",
            "/api/embed",
            r#"{"embeddings":[[0.10]],"odd":1.0}"#,
        ),
    ];
    let body = r#"{"input" : ["a", "b"], "model":"up/m0", "odd":1.0}"#;
    for (protocol, path, theirs, output) in rows {
        let (upstream, gateway) = up(protocol, answering(output)).await;
        let reply = gateway.post(path, body).await;
        assert_eq!((reply.status.as_u16(), reply.text()), (200, output));
        assert_eq!(reply.header("x-majordomo-target"), Some("up/m0"));
        let request = upstream.requests()[0].clone();
        assert!(
            request.head.starts_with(&format!("POST {theirs} ")),
            "{}",
            request.head
        );
        assert_eq!(request.body, with_model(body.as_bytes(), "m0"));
    }
}

#[tokio::test]
async fn embeddings_for_another_dialect_are_a_clear_400() {
    for (client, path, protocol) in [
        (Protocol::Chat, "/v1/embeddings", Protocol::Messages),
        (Protocol::Chat, "/v1/embeddings", Protocol::Ollama),
        (Protocol::Ollama, "/api/embed", Protocol::Chat),
    ] {
        let (upstream, gateway) = up(protocol, answering("{}")).await;
        let reply = gateway.post(path, r#"{"model":"up/m0","input":"a"}"#).await;
        assert_eq!(reply.status, 400, "{}", reply.text());
        let error = error_of(client, &reply);
        assert!(error.message().contains("embeddings"), "{error}");
        assert!(upstream.requests().is_empty());
    }
}

#[tokio::test]
async fn embeddings_fail_over() {
    let down = Script::new().read_request();
    let down = down.respond(500, "application/json", "{}").times(9);
    let first = Upstream::start([down]).await;
    let second = Upstream::start([answering(r#"{"data":[]}"#)]).await;
    let config = [
        wires::provider("first", Protocol::Chat, first.address()),
        wires::provider("second", Protocol::Chat, second.address()),
    ];
    let gateway = TestGateway::start(&config.concat()).await;
    let body = r#"{"model":"first/m0,second/m1","input":"a"}"#;
    let reply = gateway.post("/v1/embeddings", body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("x-majordomo-target"), Some("second/m1"));
    assert_eq!(reply.header("x-majordomo-attempts"), Some("3"));
}

#[tokio::test]
async fn betas_and_unknown_fields_reach_their_own_dialect_only() {
    let response = Response::new(vec![Part::text("Hello.")]);
    let body = r#"{"model":"up/m0","max_tokens":9,"tomorrow":{"a":1.0},"messages":[{"role":"user","content":"hi"}]}"#;
    let headers = [
        ("anthropic-beta", "tomorrow-2026-11-11"),
        ("anthropic-version", "2023-06-01"),
    ];
    for provider in [Protocol::Messages, Protocol::Chat] {
        let script = wires::answering(provider, &response, false);
        let (upstream, gateway) = up(provider, script).await;
        let reply = gateway.request("/v1/messages", &headers, body).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let request = upstream.requests()[0].clone();
        let same = provider == Protocol::Messages;
        let beta = request.header("anthropic-beta");
        assert_eq!(beta, same.then_some("tomorrow-2026-11-11"));
        let passed = String::from_utf8_lossy(&request.body).into_owned();
        assert_eq!(passed.contains(r#""tomorrow":{"a":1.0}"#), same, "{passed}");
        let dropped = reply.header("x-majordomo-changes");
        assert_eq!(dropped, (!same).then_some("tomorrow dropped"));
    }
}
