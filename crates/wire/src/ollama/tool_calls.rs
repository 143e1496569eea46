//! Tool calls: read, named where the client gave no id, and written.

use std::collections::HashSet;

use majordomo_llm::{Message, Opaque, Part, Role, ToolCall, ToolResult};

use super::OLLAMA;
use crate::json::{Array, Cursor, Kind, Read, Rest, is_complete, keep};
use crate::loss::Losses;
use crate::open_calls::OpenCalls;

/// Reads the list; what is no call of a function is kept as it is.
pub(super) fn read(cursor: &mut Cursor<'_>, parts: &mut Vec<Part>) -> Read<()> {
    cursor.array(|cursor| {
        let mut call = ToolCall::new("", "", "");
        let mut is_function = false;
        let mut rest = Rest::default();
        let ((), raw) = cursor.with_raw(|cursor| {
            cursor.object(|key, cursor| {
                match (&**key, cursor.peek()?) {
                    ("id", Kind::String) => call.id = cursor.string()?.into_owned(),
                    ("function", Kind::Object) => {
                        is_function = true;
                        function(cursor, &mut call, &mut rest)?;
                    }
                    // A place in the list is no property of the call.
                    ("id" | "index" | "type" | "function", _) => {}
                    _ => rest.take(key.as_ref(), cursor)?,
                }
                Ok(())
            })
        })?;
        parts.push(if is_function {
            call.native = rest.into_native(OLLAMA);
            Part::ToolCall(call)
        } else {
            Part::Opaque(Opaque {
                origin: OLLAMA,
                kind: "tool_calls".to_owned(),
                raw: keep(raw),
            })
        });
        Ok(())
    })
}

fn function(cursor: &mut Cursor<'_>, call: &mut ToolCall, rest: &mut Rest) -> Read<()> {
    cursor.object(|key, cursor| {
        match (&**key, cursor.peek()?) {
            ("name", Kind::String) => call.name = cursor.string()?.into_owned(),
            ("arguments", Kind::String) => call.arguments = cursor.string()?.into_owned(),
            ("arguments", Kind::Null) | ("index", _) => {}
            ("arguments", _) => call.arguments = cursor.raw()?.to_owned(),
            _ => rest.take(format!("function.{key}"), cursor)?,
        }
        Ok(())
    })
}

/// Makes up the ids that clients leave out, and finds for each result the call
/// that it answers: by the tool's name where it is told, in order otherwise.
pub(super) fn pair(messages: &mut [Message]) {
    let given = messages.iter().flat_map(Message::tool_calls);
    let mut used: HashSet<String> = given.map(|call| call.id.clone()).collect();
    let mut calls = 0;
    // Ids stay used, so the search for a free one never goes back.
    let mut free = 0;
    let mut open = OpenCalls::default();
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        match part {
            Part::ToolCall(call) => {
                if call.id.is_empty() {
                    free = free.max(calls);
                    call.id = ToolCall::synthetic_id(free);
                    while !used.insert(call.id.clone()) {
                        free += 1;
                        call.id = ToolCall::synthetic_id(free);
                    }
                }
                calls += 1;
                open.push(&call.id, &call.name);
            }
            Part::ToolResult(result) => answer(result, &mut open),
            _ => {}
        }
    }
}

fn answer(result: &mut ToolResult, open: &mut OpenCalls) {
    let call = match (&*result.call_id, &result.name) {
        ("", Some(name)) => open.take_name(name),
        ("", None) => open.take_oldest(),
        (id, _) => open.take_id(id),
    };
    if let Some(call) = call {
        result.call_id = call.id;
        result.name.get_or_insert(call.name);
    }
}

/// Writes a call, with its place in an answer's list.
pub(super) fn write(
    call: &ToolCall,
    id: &str,
    place: Option<usize>,
    array: &mut Array<'_>,
    losses: &mut Losses,
) {
    let native = losses.own(call.native.as_deref(), &OLLAMA);
    let arguments = object_text(&call.arguments, losses);
    array.object(|o| {
        o.string("id", id);
        o.object("function", |o| {
            if let Some(place) = place {
                o.number("index", place);
            }
            o.string("name", &call.name);
            o.raw("arguments", arguments);
            o.nested(native, "function");
        });
        o.native(native);
    });
}

/// Arguments must be an object; models do write other things.
fn object_text<'a>(arguments: &'a str, losses: &mut Losses) -> &'a str {
    let text = arguments.trim();
    if text.starts_with('{') && is_complete(text) {
        return text;
    }
    if !text.is_empty() {
        losses.add("arguments", "Ollama takes them only as an object");
    }
    "{}"
}

/// Whether a message holds the answer of a tool.
pub(super) fn is_result(message: &Message) -> bool {
    message.role == Role::Tool || message.tool_results().next().is_some()
}
