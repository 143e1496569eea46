//! "Every image block is removed", also from places that no one listed: an image is put into
//! each object and each array of a request of each dialect, and in the place of each plain
//! value, in each of the dialect's forms.
//!
//! (Ollama's images have no separate form, so its grid covers them.)
//!
//! A request that its codec then refuses reaches no model. Otherwise no trace of the image
//! may be left for a text-only model of the same dialect.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use majordomo_wire::Protocol;
use serde_json::{Value, json};

use crate::every_image::{CANARY, data, grids};
use crate::support::{VisionFixture, written};

/// A request with most features of a dialect.
fn body(protocol: Protocol) -> Value {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    match protocol {
        Protocol::Chat => json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": [{"type": "text", "text": "be brief"}]},
                {"role": "user", "content": [{"type": "text", "text": "hi"}], "name": "ann"},
                {"role": "assistant", "content": "done", "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "seen"}]},
                {"role": "user", "content": "and now?"}
            ],
            "tools": [{"type": "function", "function": {"name": "look", "parameters": schema}}],
            "tool_choice": {"type": "function", "function": {"name": "look"}},
            "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": schema}},
            "stop": ["x"],
            "stream_options": {"include_usage": true},
            "metadata": {"a": "b"}
        }),
        Protocol::Messages => json!({
            "model": "m",
            "max_tokens": 9,
            "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "hi"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "t", "signature": "s"},
                    {"type": "text", "text": "done", "citations": [{"type": "char_location"}]},
                    {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": "b"}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1",
                    "content": [{"type": "text", "text": "seen"}]}]},
                {"role": "user", "content": "and now?"}
            ],
            "tools": [
                {"name": "look", "input_schema": schema},
                {"type": "web_search_20250305", "name": "web_search", "user_location": {"type": "approximate"}}
            ],
            "tool_choice": {"type": "auto"},
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "metadata": {"user_id": "u"}
        }),
        Protocol::Responses => json!({
            "model": "m",
            "instructions": "be brief",
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
                {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "t"}],
                    "encrypted_content": "e"},
                {"type": "message", "role": "assistant", "id": "a", "status": "completed",
                    "content": [{"type": "output_text", "text": "done", "annotations": []}]},
                {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1",
                    "output": [{"type": "input_text", "text": "seen"}]},
                {"role": "user", "content": "and now?"}
            ],
            "tools": [
                {"type": "function", "name": "look", "parameters": schema},
                {"type": "custom", "name": "exec", "format": {"type": "text"}},
                {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "f"}]},
                {"type": "web_search", "filters": {"allowed_domains": ["a.example"]}}
            ],
            "tool_choice": {"type": "function", "name": "look"},
            "text": {"format": {"type": "json_schema", "name": "s", "schema": schema}},
            "reasoning": {"effort": "low"},
            "metadata": {"a": "b"}
        }),
        Protocol::Gemini => json!({
            "systemInstruction": {"parts": [{"text": "be brief"}]},
            "contents": [
                {"role": "user", "parts": [{"text": "hi"}]},
                {"role": "model", "parts": [
                    {"text": "t", "thought": true},
                    {"functionCall": {"name": "look", "args": {"a": "b"}}, "thoughtSignature": "s"}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"a": "b"}}}]},
                {"role": "user", "parts": [{"text": "and now?"}]}
            ],
            "tools": [
                {"functionDeclarations": [{"name": "look", "parameters": schema}]},
                {"googleSearch": {"timeRangeFilter": {"startTime": "t"}}}
            ],
            "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
            "generationConfig": {"thinkingConfig": {"thinkingBudget": 1}, "stopSequences": ["x"]},
            "safetySettings": [{"category": "c", "threshold": "t"}],
            "labels": {"a": "b"}
        }),
        // An image is a plain text there, known only by the field `images` of a message.
        Protocol::Ollama => Value::Null,
    }
}

/// Places in which a model reads text, never an image: schemas, and the JSON that tools get
/// and return.
const TEXTS: &[&str] = &[
    "/parameters",
    "/input_schema",
    "/schema",
    "/arguments",
    "/args",
    "/input",
    "/response",
    "/format",
];

/// Lists whose elements are objects of one other type. An image there is such an object with
/// unknown fields, which every server refuses.
const OTHER_LISTS: &[(Protocol, &str)] = &[
    (Protocol::Chat, "/messages"),
    (Protocol::Messages, "/messages"),
    (Protocol::Gemini, "/contents"),
    (Protocol::Gemini, "/tools/0/functionDeclarations"),
];

fn holds_content(protocol: Protocol, place: &str) -> bool {
    let text = TEXTS.iter().any(|name| {
        // In Responses a list of items, and a setting.
        let other = protocol == Protocol::Responses && ["/input", "/format"].contains(name);
        !other && (place.ends_with(name) || place.contains(&format!("{name}/")))
    });
    !text && !OTHER_LISTS.contains(&(protocol, place))
}

/// A tool without a type, which every server refuses.
fn is_untyped_tool(protocol: Protocol, place: &str, put: Put, image: &Value) -> bool {
    let is_tool = protocol == Protocol::Responses && place == "/tools";
    is_tool && matches!(put, Put::Inside) && image.get("type").is_none()
}

/// The paths of all values, as JSON pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                places(value, &format!("{at}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// How an image gets to a place.
#[derive(Clone, Copy, Debug)]
enum Put {
    /// As a new field or element.
    Inside,
    /// As a new field or element, inside other ones.
    Deep,
    /// Instead of a text, a number or a switch.
    Instead,
}

/// The body with an image at a place; `None` if the place is empty.
fn with_image(body: &Value, place: &str, put: Put, image: &Value) -> Option<Value> {
    let mut body = body.clone();
    let held = body.pointer_mut(place).expect("a place of the body");
    let image = match put {
        Put::Deep => json!({"deep": [image]}),
        Put::Inside | Put::Instead => image.clone(),
    };
    match (put, held) {
        (Put::Instead, held) if !held.is_object() && !held.is_array() => *held = image,
        (Put::Inside | Put::Deep, Value::Object(fields)) => {
            fields.insert("attachment".to_owned(), image);
        }
        (Put::Inside | Put::Deep, Value::Array(items)) => items.push(image),
        _ => return None,
    }
    Some(body)
}

#[tokio::test]
async fn every_image_block_is_removed_wherever_it_is() {
    let (mut checked, mut left) = (0, Vec::new());
    for grid in grids() {
        let whole = body(grid.protocol);
        let mut found = Vec::new();
        places(&whole, "", &mut found);
        found.retain(|place| holds_content(grid.protocol, place));
        for (place, form) in found
            .iter()
            .flat_map(|at| grid.forms.iter().map(move |form| (at, form)))
        {
            for put in [Put::Inside, Put::Deep, Put::Instead] {
                if is_untyped_tool(grid.protocol, place, put, &form.block) {
                    continue;
                }
                let Some(body) = with_image(&whole, place, put, &form.block) else {
                    continue;
                };
                let body = Bytes::from(body.to_string());
                let Ok(incoming) = grid.protocol.codec().read_request(body) else {
                    continue;
                };
                let described = VisionFixture::new().describe(incoming.request).await;
                let sent = written(grid.protocol, &described.request);
                checked += 1;
                if [CANARY, &*data(), &*STANDARD.encode(CANARY)]
                    .iter()
                    .any(|trace| sent.contains(trace))
                {
                    left.push(format!(
                        "{:?}: {} {put:?} {place}",
                        grid.protocol, form.name
                    ));
                }
            }
        }
    }
    assert!(checked > 500, "only {checked} requests were decoded");
    assert!(
        left.is_empty(),
        "{} of {checked} left:\n{}",
        left.len(),
        left.join("\n")
    );
}
