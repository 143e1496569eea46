//! Reads and writes tool calls, and matches tool results with their calls.

use std::borrow::Cow;
use std::collections::HashSet;

use majordomo_llm::{Message, Opaque, Part, Role, ToolCall, ToolResult};

use super::OLLAMA;
use crate::arguments::{arguments_or_none, object_arguments, read_arguments};
use crate::json::{Array, Cursor, JsonKind, ReadResult, Rest, keep};
use crate::loss::Losses;
use crate::open_calls::OpenCalls;

/// Reads `tool_calls`; elements that are not function calls stay opaque.
pub(super) fn read_tool_calls(cursor: &mut Cursor<'_>, parts: &mut Vec<Part>) -> ReadResult<()> {
    cursor.array(|cursor| {
        let mut call = ToolCall::new("", "", "");
        let mut is_function = false;
        let mut rest = Rest::default();
        let ((), raw) = cursor.with_raw(|cursor| {
            cursor.object(|key, cursor| {
                match (&**key, cursor.peek()?) {
                    ("id", JsonKind::String) => call.id = cursor.string()?.into_owned(),
                    ("function", JsonKind::Object) => {
                        is_function = true;
                        read_function(cursor, &mut call, &mut rest)?;
                    }
                    // An index describes the array, not the call.
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
            Part::Opaque(Opaque::new(OLLAMA, "tool_calls", keep(raw)))
        });
        Ok(())
    })
}

fn read_function(cursor: &mut Cursor<'_>, call: &mut ToolCall, rest: &mut Rest) -> ReadResult<()> {
    let mut arguments = Cow::Borrowed("");
    cursor.object(|key, cursor| {
        match (&**key, cursor.peek()?) {
            ("name", JsonKind::String) => call.name = cursor.string()?.into_owned(),
            ("arguments", _) => arguments = read_arguments(cursor)?,
            ("index", _) => {}
            _ => rest.take(format!("function.{key}"), cursor)?,
        }
        Ok(())
    })?;
    call.arguments = arguments_or_none(arguments);
    Ok(())
}

/// Generates missing call ids and matches each result with its call: by id, else
/// by tool name, else in order.
pub(super) fn match_results(messages: &mut [Message]) {
    let given = messages.iter().flat_map(Message::tool_calls);
    let mut used: HashSet<String> = given.map(|call| call.id.clone()).collect();
    let mut calls = 0;
    // Ids stay used, so the search for a free one only moves forward.
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
            Part::ToolResult(result) => match_result(result, &mut open),
            Part::Text(_)
            | Part::Refusal(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::Reasoning(_)
            | Part::File(_)
            | Part::Opaque(_) => {}
        }
    }
}

fn match_result(result: &mut ToolResult, open: &mut OpenCalls) {
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

/// Writes a call; `index` is its position in a response.
pub(super) fn write_tool_call(
    call: &ToolCall,
    id: &str,
    index: Option<usize>,
    array: &mut Array<'_>,
    losses: &mut Losses,
) {
    let native = losses.own(call.native.as_deref(), &OLLAMA);
    let arguments = object_arguments(&call.arguments, losses);
    array.object(|o| {
        o.string("id", id);
        o.object("function", |o| {
            if let Some(index) = index {
                o.number("index", index);
            }
            o.string("name", &call.name);
            o.raw("arguments", &arguments);
            o.nested(native, "function");
        });
        o.native(native);
    });
}

/// Whether a message holds tool results.
pub(super) fn is_result(message: &Message) -> bool {
    message.role == Role::Tool || message.tool_results().next().is_some()
}
