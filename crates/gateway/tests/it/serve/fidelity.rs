//! The parts of a response and a conversation that survive the gateway.

use majordomo_testkit::{Script, Upstream};
use majordomo_wire::Protocol;
use serde_json::{Value, json};

use crate::serve::test_gateway::TestGateway;
use crate::serve::wires;

async fn up(protocol: Protocol, content_type: &str, body: &'static str) -> (Upstream, TestGateway) {
    let script = Script::new().read_request();
    let script = script.respond(200, content_type, body).times(9);
    let upstream = Upstream::start([script]).await;
    let gateway = TestGateway::start(&wires::provider("up", protocol, upstream.address())).await;
    (upstream, gateway)
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

const QUESTION: &str = r#"{"model":"up/m0","messages":[{"role":"user","content":"hi"}]}"#;
const STREAMED: &str =
    r#"{"model":"up/m0","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;

#[tokio::test]
async fn missing_call_ids_are_synthesized_in_a_forwarded_chat_response() {
    let body = r#"{"id":"r", "choices":[{"message":{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}], "odd":1.0}"#;
    let (_upstream, gateway) = up(Protocol::Chat, JSON, body).await;
    let response = gateway.post("/v1/chat/completions", QUESTION).await;
    let expected: String = body.replace(r#"[{"type""#, r#"[{"id":"call_0","type""#);
    assert_eq!(response.text(), expected);
}

#[tokio::test]
async fn missing_call_ids_are_synthesized_in_a_forwarded_chat_stream() {
    let body = concat!(
        r#"data: {"id":"r","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}}]}"#,
        "\n\n",
        r#"data: {"id":"r","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}"#,
        "\n\n",
        r#"data: {"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        "\n\ndata: [DONE]\n\n",
    );
    let (_upstream, gateway) = up(Protocol::Chat, EVENTS, body).await;
    let response = gateway.post("/v1/chat/completions", STREAMED).await;
    let expected = body.replacen(
        r#"[{"index":0,"function""#,
        r#"[{"id":"call_0","index":0,"function""#,
        1,
    );
    assert_eq!(response.text(), expected);
}

#[tokio::test]
async fn missing_call_ids_are_synthesized_in_forwarded_messages() {
    let question =
        r#"{"model":"up/m0","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
    let body = r#"{"id":"m","type":"message","role":"assistant","content":[{"type":"tool_use","name":"f","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}, "odd":1.0}"#;
    let (_upstream, gateway) = up(Protocol::Messages, JSON, body).await;
    let response = gateway.post("/v1/messages", question).await;
    let expected = body.replace(r#"[{"type""#, r#"[{"id":"call_0","type""#);
    assert_eq!(response.text(), expected);

    let body = concat!(
        "event: message_start\n",
        r#"data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}"#,
        "\n\nevent: content_block_start\n",
        r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"f","input":{}}}"#,
        "\n\nevent: content_block_stop\n",
        r#"data: {"type":"content_block_stop","index":0}"#,
        "\n\nevent: message_delta\n",
        r#"data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}"#,
        "\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    let (_upstream, gateway) = up(Protocol::Messages, EVENTS, body).await;
    let question = question.replace(r#""max_tokens""#, r#""stream":true,"max_tokens""#);
    let response = gateway.post("/v1/messages", question).await;
    let expected = body.replace(
        r#"{"type":"tool_use""#,
        r#"{"id":"call_0","type":"tool_use""#,
    );
    assert_eq!(response.text(), expected);
}

#[tokio::test]
async fn missing_call_ids_are_synthesized_in_forwarded_responses() {
    let call =
        r#"{"type":"function_call","id":"fc","name":"f","arguments":"{}","status":"completed"}"#;
    let completed = r#"{"call_id":"call_0","type":"function_call","id":"fc","name":"f","arguments":"{}","status":"completed"}"#;
    let whole = r#"{"id":"r","object":"response","status":"completed","output":[CALL],"usage":{"input_tokens":1,"output_tokens":1}, "odd":1.0}"#;
    let body: &'static str = String::leak(whole.replace("CALL", call));
    let (_upstream, gateway) = up(Protocol::Responses, JSON, body).await;
    let question = r#"{"model":"up/m0","input":"hi"}"#;
    let response = gateway.post("/v1/responses", question).await;
    assert_eq!(response.text(), body.replace(call, completed));

    let events = [
        r#"{"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}"#
            .to_owned(),
        format!(r#"{{"type":"response.output_item.added","output_index":0,"item":{call}}}"#),
        format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{call}}}"#),
        format!(r#"{{"type":"response.completed","response":{body}}}"#),
    ];
    let frames = events.map(|event| format!("data: {event}\n\n"));
    let body: &'static str = String::leak(frames.concat());
    let (_upstream, gateway) = up(Protocol::Responses, EVENTS, body).await;
    let question = r#"{"model":"up/m0","stream":true,"input":"hi"}"#;
    let response = gateway.post("/v1/responses", question).await;
    assert_eq!(response.text(), body.replace(call, completed));
}

#[tokio::test]
async fn a_forwarded_chat_response_with_ids_keeps_every_byte() {
    let body = r#"{ "id":"r","choices":[ {"message":{"tool_calls":[{"id":"own","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let (_upstream, gateway) = up(Protocol::Chat, JSON, body).await;
    let response = gateway.post("/v1/chat/completions", QUESTION).await;
    assert_eq!(response.text(), body);
}

#[tokio::test]
async fn arguments_that_do_not_parse_are_wrapped_where_the_dialect_has_no_text_for_them() {
    let body = r#"{"choices":[{"message":{"tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{\"a\": 1"}}]},"finish_reason":"tool_calls"}]}"#;
    let (_upstream, gateway) = up(Protocol::Chat, JSON, body).await;
    let messages =
        r#"{"model":"up/m0","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
    let response = gateway.post("/v1/messages", messages).await;
    let value: Value = serde_json::from_slice(&response.body).unwrap();
    assert_eq!(
        value["content"][0]["input"],
        json!({"arguments": "{\"a\": 1"})
    );
    assert_eq!(
        response.header("x-majordomo-changes"),
        Some("arguments wrapped")
    );

    let responses = r#"{"model":"up/m0","input":"hi"}"#;
    let response = gateway.post("/v1/responses", responses).await;
    let value: Value = serde_json::from_slice(&response.body).unwrap();
    assert_eq!(value["output"][0]["arguments"], "{\"a\": 1", "its own text");
    assert_eq!(response.header("x-majordomo-changes"), None);
}

#[tokio::test]
async fn system_messages_are_folded_wherever_they_stand() {
    let conversation = json!({"model": "up/m0", "messages": [
        {"role": "system", "content": "S1"},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "system", "content": "S2"},
        {"role": "user", "content": "c"},
    ]});
    let gemini = r#"{"candidates":[{"content":{"parts":[{"text":"d"}]},"finishReason":"STOP"}]}"#;
    let messages =
        r#"{"id":"m","content":[{"type":"text","text":"d"}],"stop_reason":"end_turn","usage":{}}"#;
    for (protocol, body) in [(Protocol::Gemini, gemini), (Protocol::Messages, messages)] {
        let (upstream, gateway) = up(protocol, JSON, body).await;
        let response = gateway
            .post("/v1/chat/completions", conversation.to_string())
            .await;
        assert_eq!(response.status, 200, "{}", response.text());
        let changes = response.header("x-majordomo-changes").unwrap_or_default();
        assert!(changes.contains("system folded"), "{protocol:?}: {changes}");
        let sent: Value = serde_json::from_slice(&upstream.requests()[0].body).unwrap();
        let (texts, turns) = match protocol {
            Protocol::Gemini => (&sent["systemInstruction"]["parts"], &sent["contents"]),
            _ => (&sent["system"], &sent["messages"]),
        };
        let texts: Vec<_> = texts
            .as_array()
            .unwrap()
            .iter()
            .map(|t| &t["text"])
            .collect();
        assert_eq!(texts, ["S1", "S2"], "{protocol:?}");
        let roles: Vec<_> = turns
            .as_array()
            .unwrap()
            .iter()
            .map(|t| &t["role"])
            .collect();
        let model = if protocol == Protocol::Gemini {
            "model"
        } else {
            "assistant"
        };
        assert_eq!(roles, ["user", model, "user"], "{protocol:?}");
    }
}

#[tokio::test]
async fn a_translated_stream_that_starts_over_ends_with_an_error() {
    let body = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"content\":[],\"usage\":{}}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"first\"}}\n\n",
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m2\",\"content\":[],\"usage\":{}}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"second\"}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    let (_upstream, gateway) = up(Protocol::Messages, EVENTS, body).await;
    let response = gateway.post("/v1/chat/completions", STREAMED).await;
    let text = response.text();
    assert!(text.contains("first") && !text.contains("second"), "{text}");
    assert!(text.contains("started its response over"), "{text}");
    assert!(!text.contains("[DONE]"), "{text}");
}
