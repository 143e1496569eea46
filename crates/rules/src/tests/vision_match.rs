//! Where images are recognized, in every dialect.

use majordomo::{Message, Part, Request};
use majordomo_wire::Protocol;
use serde_json::{Value, json};

use super::read;
use crate::{RuleIndex, Subject};

fn sees(request: &Request) -> bool {
    let subject = Subject::new(request, "m");
    subject.images() > 0
}

fn image() -> Part {
    Part::image("image/png", vec![1, 2, 3])
}

const PNG: &str = "iVBORw0KGgo=";

fn anthropic(messages: Value) -> Request {
    let body = json!({"model": "m", "max_tokens": 9, "messages": messages});
    read(Protocol::Messages, &body)
}

fn anthropic_image() -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}})
}

#[test]
fn an_image_in_the_last_user_message_matches() {
    let see = json!({"type": "text", "text": "see"});
    let request = anthropic(json!([{"role": "user", "content": [see, anthropic_image()]}]));
    assert!(sees(&request));
    let vision = crate::ConditionSpec::leaf("images", "ge", 1);
    let rules = super::rules([super::rule("eyes", [vision])]);
    let verdict = rules.evaluate(&Subject::new(&request, "m"));
    assert_eq!(verdict, Some(RuleIndex(0)));
}

#[test]
fn an_image_in_an_earlier_user_message_matches() {
    let request = Request::user(image())
        .message(Message::assistant("nice"))
        .message(Message::user("and now?"));
    assert!(sees(&request));
}

#[test]
fn an_image_in_an_assistant_message_matches() {
    let request = Request::user("draw")
        .message(Message::assistant(image()))
        .message(Message::user("thanks"));
    assert!(sees(&request));
}

#[test]
fn a_request_without_an_image_does_not_match() {
    assert!(!sees(&Request::user("only [image] as text")));
}

#[test]
fn an_image_in_a_tool_result_matches() {
    let request = anthropic(json!([
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": [anthropic_image()]},
        ]},
    ]));
    assert!(sees(&request));
}

#[test]
fn an_image_in_a_responses_request_matches() {
    let part = json!({"type": "input_image", "image_url": format!("data:image/png;base64,{PNG}")});
    let body = json!({"model": "m", "input": [{"role": "user", "content": [part]}]});
    assert!(sees(&read(Protocol::Responses, &body)));
}

#[test]
fn images_of_every_dialect_match() {
    let url = format!("data:image/png;base64,{PNG}");
    let chat = json!({"model": "m", "messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": url}},
    ]}]});
    let remote = json!({"model": "m", "messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    ]}]});
    let gemini = json!({"contents": [{"role": "user", "parts": [
        {"inlineData": {"mimeType": "image/png", "data": PNG}},
    ]}]});
    let ollama = json!({"model": "m", "messages": [
        {"role": "user", "content": "see", "images": [PNG]},
    ]});
    let output = json!({"model": "m", "input": [
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [
            {"type": "input_image", "image_url": url},
        ]},
    ]});
    for (protocol, body) in [
        (Protocol::Chat, chat),
        (Protocol::Chat, remote),
        (Protocol::Gemini, gemini),
        (Protocol::Ollama, ollama),
        (Protocol::Responses, output),
    ] {
        assert!(sees(&read(protocol, &body)), "{protocol:?}: {body}");
    }
}
