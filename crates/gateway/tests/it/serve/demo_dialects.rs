//! The demo provider in every dialect.

use majordomo::FinishReason;
use majordomo_wire::Protocol;

use crate::serve::test_gateway::TestGateway;

/// One request per dialect, buffered and streamed.
fn questions() -> [(Protocol, String, String, &'static str); 5] {
    let chat = |stream| {
        format!(
            r#"{{"model":"demo/text","stream":{stream},"messages":[{{"role":"user","content":"hi"}}]}}"#
        )
    };
    let messages = |stream| {
        format!(
            r#"{{"model":"demo/text","max_tokens":99,"stream":{stream},"messages":[{{"role":"user","content":"hi"}}]}}"#
        )
    };
    let responses = |stream| format!(r#"{{"model":"demo/text","stream":{stream},"input":"hi"}}"#);
    let gemini = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#.to_owned();
    [
        (
            Protocol::Chat,
            chat(false),
            chat(true),
            "/v1/chat/completions",
        ),
        (
            Protocol::Responses,
            responses(false),
            responses(true),
            "/v1/responses",
        ),
        (
            Protocol::Messages,
            messages(false),
            messages(true),
            "/v1/messages",
        ),
        (
            Protocol::Gemini,
            gemini.clone(),
            gemini,
            "/v1beta/models/demo/text:generateContent",
        ),
        (Protocol::Ollama, chat(false), chat(true), "/api/chat"),
    ]
}

#[tokio::test]
async fn the_demo_serves_every_dialect_buffered() {
    let gateway = TestGateway::start("").await;
    for (protocol, whole, _, path) in questions() {
        let reply = gateway.post(path, whole).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(reply.header("x-majordomo-target"), Some("demo/text"));
        assert_eq!(reply.header("x-majordomo-attempts"), Some("1"));
        let read = protocol.codec().read_response(reply.body.clone(), 0);
        let response = read.unwrap_or_else(|error| panic!("{protocol:?}: {error}"));
        assert!(!response.text().is_empty(), "{protocol:?}");
        assert!(response.usage.output > 0, "{protocol:?}");
    }
}

#[tokio::test]
async fn the_demo_serves_every_dialect_streamed() {
    let gateway = TestGateway::start("").await;
    for (protocol, _, streamed, path) in questions() {
        let path = path.replace(":generateContent", ":streamGenerateContent?alt=sse");
        let reply = gateway.post(&path, streamed).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let mut reader = protocol.codec().stream_reader();
        let mut events = Vec::new();
        reader.push(&reply.body, &mut events).unwrap();
        reader.finish(&mut events).unwrap();
        let finish = majordomo::Event::Finish(FinishReason::Stop);
        assert_eq!(events.last(), Some(&finish), "{protocol:?}");
    }
}
