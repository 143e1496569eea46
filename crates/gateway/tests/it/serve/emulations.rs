//! Features that targets lack: forced calls on Ollama, completions of a text, and compaction.

use majordomo::llm::{Tool, ToolChoice};
use majordomo::{Part, Request, Response};
use majordomo_testkit::Upstream;
use majordomo_wire::Protocol;

use crate::serve::test_gateway::TestGateway;
use crate::serve::wires;

#[tokio::test]
async fn a_forced_call_on_ollama_reaches_every_client_as_a_call() {
    let text = r#"{"name":"weather","arguments":{"city":"Paris"}}"#;
    let response = Response::new(vec![Part::text(text)]);
    let mut request = Request::user("weather in Paris?");
    request.edit().tools = vec![Tool::new("weather"), Tool::new("clock")];
    request.edit().tool_choice = ToolChoice::Named("weather".into());
    let clients = Protocol::ALL.into_iter();
    for client in clients.filter(|client| *client != Protocol::Ollama) {
        for stream in [false, true] {
            let upstream =
                Upstream::start([wires::answering(Protocol::Ollama, &response, stream)]).await;
            let config = wires::provider("up", Protocol::Ollama, upstream.address());
            let gateway = TestGateway::start(&config).await;
            let body = wires::request_for(client, &request, "up/m0", stream);
            let path = wires::path(client, "up/m0", stream);
            let reply = gateway.post(&path, body).await;
            assert_eq!(reply.status, 200, "{}", reply.text());
            let read = wires::understood(client, &reply.body, stream).expect("a response");
            let calls: Vec<_> = read.tool_calls().collect();
            let [call] = calls.as_slice() else {
                panic!("{client:?}, stream {stream}: {}", reply.text());
            };
            assert_eq!(call.name, "weather");
            assert_eq!(call.arguments, r#"{"city":"Paris"}"#);
            assert_eq!(read.text(), "");
            let changes = reply.header("x-majordomo-changes").unwrap_or_default();
            assert!(changes.contains("tool_choice converted"), "{changes}");
        }
    }
}

#[tokio::test]
async fn a_text_is_completed_by_a_target_of_any_dialect() {
    let response = Response::new(vec![Part::text("a time")]);
    for target in Protocol::ALL {
        for stream in [false, true] {
            let upstream = Upstream::start([wires::answering(target, &response, stream)]).await;
            let config = wires::provider("up", target, upstream.address());
            let gateway = TestGateway::start(&config).await;
            let body = format!(
                r#"{{"model":"up/m0","prompt":"Once upon","max_tokens":9,"stream":{stream}}}"#
            );
            let reply = gateway.post("/v1/completions", body).await;
            let text = reply.text();
            assert_eq!(reply.status, 200, "{target:?}: {text}");
            let wanted = match stream {
                true => vec![r#""object":"text_completion""#, "data: [DONE]"],
                false => vec![r#""text":"a time""#, r#""finish_reason":"stop""#],
            };
            for words in wanted {
                assert!(text.contains(words), "{target:?}: {text}");
            }
            assert!(!text.contains("chat.completion"), "{target:?}: {text}");
        }
    }
}

#[tokio::test]
async fn a_conversation_is_compacted_by_a_target_of_any_dialect() {
    let response = Response::new(vec![Part::text("They said hello.")]);
    for target in Protocol::ALL {
        let upstream = Upstream::start([wires::answering(target, &response, false)]).await;
        let config = wires::provider("up", target, upstream.address());
        let gateway = TestGateway::start(&config).await;
        let body = r#"{"model":"up/m0","input":[{"role":"user","content":"hello"}]}"#;
        let reply = gateway.post("/v1/responses/compact", body).await;
        let text = reply.text();
        assert_eq!(reply.status, 200, "{target:?}: {text}");
        assert!(text.contains(r#""object":"response.compaction""#), "{text}");
        assert!(text.contains("They said hello."), "{target:?}: {text}");
    }
}

#[tokio::test]
async fn a_completion_without_a_prompt_is_rejected_in_openais_form() {
    let gateway = TestGateway::start("").await;
    let reply = gateway
        .post("/v1/completions", r#"{"model":"demo/eager"}"#)
        .await;
    assert_eq!(reply.status, 400);
    assert!(
        reply.text().contains("`prompt` is missing or empty"),
        "{}",
        reply.text()
    );
}
