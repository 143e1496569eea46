//! Tool calls of a message, read.

use majordomo_llm::{Json, Opaque, Part, ToolCall};

use super::CHAT;
use crate::json::{Cursor, JsonKind, ReadResult, Rest, keep};

/// Reads the list; calls of other types than functions are kept as they are.
pub(super) fn read_calls(cursor: &mut Cursor<'_>, parts: &mut Vec<Part>) -> ReadResult<()> {
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
                        function(cursor, &mut call, &mut rest)?;
                    }
                    // A place in the list is no property of the call.
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
            Part::Opaque(Opaque {
                origin: CHAT,
                kind: format!("tool_calls.{}", kind.unwrap_or_default()),
                raw: keep(raw),
            })
        });
        Ok(())
    })
}

fn function(cursor: &mut Cursor<'_>, call: &mut ToolCall, rest: &mut Rest) -> ReadResult<()> {
    cursor.object(|key, cursor| {
        match (&**key, cursor.peek()?) {
            ("name", JsonKind::String) => call.name = cursor.string()?.into_owned(),
            ("arguments", _) => call.arguments = arguments(cursor)?,
            _ => rest.take(format!("function.{key}"), cursor)?,
        }
        Ok(())
    })
}

/// JSON as text; some servers send the object itself, or nothing.
pub(super) fn arguments(cursor: &mut Cursor<'_>) -> ReadResult<String> {
    Ok(match cursor.peek()? {
        JsonKind::String => cursor.string()?.into_owned(),
        JsonKind::Null => cursor.raw().map(|_| String::new())?,
        _ => cursor.raw()?.to_owned(),
    })
}

/// The form before `tool_calls`; some servers always send it, empty.
pub(super) fn legacy(cursor: &mut Cursor<'_>) -> ReadResult<Option<ToolCall>> {
    let mut call = ToolCall::new("", "", "");
    let mut rest = Rest::default();
    function(cursor, &mut call, &mut rest)?;
    if call.name.is_empty() {
        return Ok(None);
    }
    rest.push("field", Json::string("function_call"));
    call.native = rest.into_native(CHAT);
    Ok(Some(call))
}
