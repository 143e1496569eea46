//! Responses with reasoning, including each provider's state.
//!
//! The state is read from a provider's own response, so this module need not know
//! how a codec represents it.

use majordomo_llm::{Message, Part, Prompt, Reasoning, Response, Role};
use majordomo_wire::Protocol;

/// Responses with reasoning, each in its provider's form.
const RESPONSES: &[(&str, Protocol, &str)] = &[
    (
        "reasoning in Chat Completions",
        Protocol::Chat,
        r#"{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","reasoning_content":"six times seven","content":"42"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14}}"#,
    ),
    (
        "reasoning in OpenRouter",
        Protocol::Chat,
        r#"{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","reasoning":"six times seven","reasoning_details":[{"type":"reasoning.text","text":"six times seven","signature":"c2ln"}],"content":"42"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14}}"#,
    ),
    (
        "reasoning in Responses",
        Protocol::Responses,
        r#"{"id":"resp_1","object":"response","status":"completed","model":"m","output":[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"six times seven"}],"encrypted_content":"gAAAAAB"},{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"42","annotations":[]}]}],"usage":{"input_tokens":9,"output_tokens":5,"total_tokens":14}}"#,
    ),
    (
        "reasoning in Messages",
        Protocol::Messages,
        r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"six times seven","signature":"c2ln"},{"type":"text","text":"42"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":5}}"#,
    ),
    (
        "redacted reasoning in Messages",
        Protocol::Messages,
        r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"redacted_thinking","data":"ZW5j"},{"type":"text","text":"42"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":5}}"#,
    ),
    (
        "reasoning in Gemini",
        Protocol::Gemini,
        r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"six times seven","thought":true},{"text":"42","thoughtSignature":"c2ln"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":5,"totalTokenCount":14},"modelVersion":"m"}"#,
    ),
    (
        "reasoning in Ollama",
        Protocol::Ollama,
        r#"{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"42","thinking":"six times seven"},"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":5}"#,
    ),
];

/// The decoded responses.
pub(super) fn responses() -> Vec<(&'static str, Response)> {
    let mut responses = Vec::new();
    for (name, protocol, body) in RESPONSES {
        if let Ok(mut response) = protocol.codec().read_response((*body).into(), 0) {
            // Metadata of the response is not compared.
            response.native = None;
            responses.push((*name, response));
        }
    }
    responses
}

/// Conversations that contain reasoning.
pub(super) fn conversations() -> Vec<(&'static str, Prompt)> {
    let talk = |parts: Vec<Part>| Prompt {
        messages: vec![
            Message::user("What is 6 × 7?"),
            Message::new(Role::Assistant, parts),
            Message::user("Are you sure?"),
        ],
        ..Prompt::default()
    };
    let stateless = vec![
        Part::Reasoning(Reasoning::new("six times seven")),
        "42".into(),
    ];
    let mut all = vec![("reasoning of unknown origin", talk(stateless))];
    for (name, response) in responses() {
        all.push((name, talk(response.parts)));
    }
    all
}
