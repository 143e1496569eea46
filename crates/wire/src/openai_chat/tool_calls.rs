//! Reads the tool calls of a message.

use std::borrow::Cow;

use majordomo_llm::{Json, Part, ToolCall};

use super::CHAT;
use super::opaque::OPAQUE;
use crate::arguments::{arguments_or_none, read_arguments};
use crate::json::{Cursor, JsonKind, ReadResult, Rest};

/// Reads `tool_calls`; elements that are not function calls stay opaque.
pub(super) fn read_tool_calls(cursor: &mut Cursor<'_>, parts: &mut Vec<Part>) -> ReadResult<()> {
    cursor.array(|cursor| {
        let mut call = ToolCall::new("", "", "");
        let mut kind = None;
        let mut is_function = false;
        let mut rest = Rest::default();
        let ((), raw) = cursor.with_raw(|cursor| {
            cursor.object(|key, cursor| {
                match (&**key, cursor.peek()?) {
                    ("id", JsonKind::String) => call.id = cursor.string()?.into_owned(),
                    ("type", JsonKind::String) => kind = Some(cursor.string()?),
                    ("function", JsonKind::Object) => {
                        is_function = true;
                        read_function(cursor, &mut call, &mut rest)?;
                    }
                    // An index describes the array, not the call.
                    ("index" | "id" | "type" | "function", _) => {}
                    _ => rest.take(key.as_ref(), cursor)?,
                }
                Ok(())
            })
        })?;
        parts.push(if is_function {
            call.native = rest.into_native(CHAT);
            Part::ToolCall(call)
        } else {
            OPAQUE.part(format!("tool_calls.{}", kind.unwrap_or_default()), raw)
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
            _ => rest.take(format!("function.{key}"), cursor)?,
        }
        Ok(())
    })?;
    call.arguments = arguments_or_none(arguments);
    Ok(())
}

/// Reads the deprecated `function_call`; none if empty, as some servers always
/// send it.
pub(super) fn read_legacy_function_call(cursor: &mut Cursor<'_>) -> ReadResult<Option<ToolCall>> {
    let mut call = ToolCall::new("", "", "");
    let mut rest = Rest::default();
    read_function(cursor, &mut call, &mut rest)?;
    if call.name.is_empty() {
        return Ok(None);
    }
    rest.push("field", Json::string("function_call"));
    call.native = rest.into_native(CHAT);
    Ok(Some(call))
}
