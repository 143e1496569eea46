//! Chat Completions: `id` of the elements of `tool_calls`, in a message or in deltas.

use std::borrow::Cow;

use super::{CallObject, Edits, ForwardedCalls};
use crate::json::{Cursor, JsonKind, ReadResult};

pub(super) fn read(
    calls: &mut ForwardedCalls,
    cursor: &mut Cursor<'_>,
    edits: &mut Edits,
) -> ReadResult<()> {
    cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
        ("choices", JsonKind::Array) => cursor.array(|cursor| read_choice(calls, cursor, edits)),
        _ => Ok(()),
    })
}

fn read_choice(
    calls: &mut ForwardedCalls,
    cursor: &mut Cursor<'_>,
    edits: &mut Edits,
) -> ReadResult<()> {
    if cursor.peek()? != JsonKind::Object {
        return Ok(());
    }
    cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
        ("message" | "delta", JsonKind::Object) => {
            cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
                ("tool_calls", JsonKind::Array) => {
                    cursor.array(|cursor| read_call(calls, cursor, edits))
                }
                _ => Ok(()),
            })
        }
        _ => Ok(()),
    })
}

fn read_call(
    calls: &mut ForwardedCalls,
    cursor: &mut Cursor<'_>,
    edits: &mut Edits,
) -> ReadResult<()> {
    if cursor.peek()? != JsonKind::Object {
        return Ok(());
    }
    let mut index = None;
    let mut named = false;
    let call = CallObject::read(cursor, "id", |key, cursor| {
        match (key, cursor.peek()?) {
            ("index", JsonKind::Number) => index = cursor.count()?,
            ("function" | "custom", JsonKind::Object) => named |= names_a_tool(cursor)?,
            _ => {}
        }
        Ok(())
    })?;
    let is_new = match index {
        Some(_) => call.has_id() && named || !calls.seen.contains(&index),
        // Without an index, a name begins a call.
        None => call.has_id() || named,
    };
    if is_new {
        let id = calls.begin(index);
        edits.complete(call, "id", &id);
    }
    Ok(())
}

fn names_a_tool(cursor: &mut Cursor<'_>) -> ReadResult<bool> {
    let mut named = false;
    cursor.loose_object(|key, cursor| {
        if key == "name" {
            named = cursor
                .maybe_string()?
                .is_some_and(|name: Cow<'_, str>| !name.is_empty());
        }
        Ok(())
    })?;
    Ok(named)
}
