//! Encodes a conversation in a dialect and checks what its server would reject.

use std::collections::VecDeque;

use majordomo::{Message, Part, Request, Role};
use majordomo_wire::{Outgoing, Protocol};
use serde_json::Value;

/// Encodes the conversation and checks the JSON, as its server sees it, and what our own
/// decoder makes of it.
pub(crate) fn check(protocol: Protocol, messages: &[Message]) -> Result<(), String> {
    let mut request = Request::default();
    request.edit().messages = messages.to_vec();
    let written = protocol
        .codec()
        .write_request(&request, &Outgoing::new("m"));
    let about = |problem: String| format!("{}: {problem}", protocol.dialect());

    let body: Value = serde_json::from_slice(&written.body).map_err(|e| about(e.to_string()))?;
    answered(&spoken(protocol, &body)).map_err(about)?;

    let read = protocol.codec().read_request(written.body);
    let read = read.map_err(|error| about(error.to_string()))?.request;
    answered(&understood(&read.prompt().messages)).map_err(|e| about(format!("read back: {e}")))?;
    let (sent, got) = (names(messages), names(&read.prompt().messages));
    if sent != got {
        return Err(about(format!("the calls {sent:?} became {got:?}")));
    }
    Ok(())
}

/// A call, a result, or anything between them.
#[derive(Debug)]
enum Item {
    Call { id: String, name: String },
    Result { id: String, name: String },
    NextTurn,
}

/// Each call has exactly one result, in order, before the next turn.
fn answered(items: &[Item]) -> Result<(), String> {
    let mut open: VecDeque<(&str, &str)> = VecDeque::new();
    let mut used = Vec::new();
    let mut answering = false;
    for item in items {
        match item {
            Item::Call { id, name } => {
                if answering && !open.is_empty() {
                    return Err(format!("{name} is called while {open:?} are open"));
                }
                if !id.is_empty() && used.contains(id) {
                    return Err(format!("the id {id} is used twice"));
                }
                used.push(id.clone());
                answering = false;
                open.push_back((id, name));
            }
            // Some dialects carry only the id, some only the name.
            Item::Result { id, name } => match open.pop_front() {
                Some((call, tool))
                    if (id.is_empty() || id == call) && (name.is_empty() || name == tool) =>
                {
                    answering = true;
                }
                expected => return Err(format!("{item:?} answers {expected:?}")),
            },
            Item::NextTurn if !open.is_empty() => {
                return Err(format!("a turn begins while {open:?} are open"));
            }
            Item::NextTurn => {}
        }
    }
    match open.is_empty() {
        true => Ok(()),
        false => Err(format!("{open:?} are never answered")),
    }
}

fn understood(messages: &[Message]) -> Vec<Item> {
    let mut items = Vec::new();
    for message in messages {
        items.extend(message.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(Item::Call {
                id: call.id.clone(),
                name: call.name.clone(),
            }),
            Part::ToolResult(result) => Some(Item::Result {
                id: result.call_id.clone(),
                name: result.name.clone().unwrap_or_default(),
            }),
            _ => (message.role != Role::Assistant).then_some(Item::NextTurn),
        }));
    }
    items
}

fn names(messages: &[Message]) -> Vec<&str> {
    let calls = messages.iter().flat_map(Message::tool_calls);
    calls.map(|call| call.name.as_str()).collect()
}

/// The same from the bare JSON, by each vendor's documented names.
fn spoken(protocol: Protocol, body: &Value) -> Vec<Item> {
    match protocol {
        Protocol::Chat => list(&body["messages"]).flat_map(chat).collect(),
        Protocol::Responses => list(&body["input"]).map(responses).collect(),
        Protocol::Messages => list(&body["messages"])
            .flat_map(|m| list(&m["content"]).map(|block| messages(&m["role"], block)))
            .collect(),
        Protocol::Gemini => list(&body["contents"])
            .flat_map(|content| gemini(&content["role"], list(&content["parts"]).collect()))
            .collect(),
        Protocol::Ollama => list(&body["messages"]).flat_map(ollama).collect(),
    }
}

fn chat(message: &Value) -> Vec<Item> {
    let call = |call: &Value| {
        assert!(call["function"]["arguments"].is_string(), "{call}");
        item(true, &call["id"], &call["function"]["name"])
    };
    match message["role"].as_str() {
        Some("assistant") => list(&message["tool_calls"]).map(call).collect(),
        Some("tool") => vec![item(false, &message["tool_call_id"], &Value::Null)],
        _ => vec![Item::NextTurn],
    }
}

fn responses(input: &Value) -> Item {
    match input["type"].as_str() {
        Some("function_call") => {
            assert!(input["arguments"].is_string(), "{input}");
            item(true, &input["call_id"], &input["name"])
        }
        Some("function_call_output") => item(false, &input["call_id"], &Value::Null),
        _ => Item::NextTurn,
    }
}

fn messages(role: &Value, block: &Value) -> Item {
    match (role.as_str(), block["type"].as_str()) {
        (Some("assistant"), Some("tool_use")) => {
            assert!(block["input"].is_object(), "{block}");
            item(true, &block["id"], &block["name"])
        }
        (Some("user"), Some("tool_result")) => item(false, &block["tool_use_id"], &Value::Null),
        _ => Item::NextTurn,
    }
}

/// All results of one turn's calls are in one content, with nothing before them.
fn gemini(role: &Value, parts: Vec<&Value>) -> Vec<Item> {
    let part = |part: &&Value| {
        let (call, result) = (&part["functionCall"], &part["functionResponse"]);
        match role.as_str() {
            Some("model") if call.is_object() => {
                assert!(call["args"].is_object() || call["args"].is_null(), "{call}");
                item(true, &call["id"], &call["name"])
            }
            Some("user") if result.is_object() => {
                assert!(result["response"].is_object(), "{result}");
                item(false, &result["id"], &result["name"])
            }
            _ => Item::NextTurn,
        }
    };
    parts.iter().map(part).collect()
}

fn ollama(message: &Value) -> Vec<Item> {
    let call = |call: &Value| {
        assert!(call["function"]["arguments"].is_object(), "{call}");
        item(true, &call["id"], &call["function"]["name"])
    };
    match message["role"].as_str() {
        Some("assistant") => list(&message["tool_calls"]).map(call).collect(),
        Some("tool") => vec![item(false, &message["tool_call_id"], &message["tool_name"])],
        _ => vec![Item::NextTurn],
    }
}

fn item(is_call: bool, id: &Value, name: &Value) -> Item {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (id, name) = (text(id), text(name));
    match is_call {
        true => Item::Call { id, name },
        false => Item::Result { id, name },
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
