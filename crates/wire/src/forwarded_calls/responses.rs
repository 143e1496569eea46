//! Responses: `call_id` of function calls and custom tool calls.
//!
//! A stream repeats an item: when it begins, when it ends, and in the whole response at the
//! end. Its `output_index`, or its position in `output`, identifies it, so that it has the
//! same id everywhere.

use super::{CallObject, Edits, ForwardedCalls};
use crate::json::{Cursor, JsonKind, ReadResult};

pub(super) fn read(
    calls: &mut ForwardedCalls,
    cursor: &mut Cursor<'_>,
    edits: &mut Edits,
) -> ReadResult<()> {
    let mut index = None;
    let mut item = None;
    cursor.loose_object(|key, cursor| {
        match (&**key, cursor.peek()?) {
            ("output_index", JsonKind::Number) => index = cursor.count()?,
            ("item", JsonKind::Object) => item = read_item(cursor)?,
            ("response", JsonKind::Object) => {
                cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
                    ("output", JsonKind::Array) => read_output(calls, cursor, edits),
                    _ => Ok(()),
                })?;
            }
            ("output", JsonKind::Array) => read_output(calls, cursor, edits)?,
            _ => {}
        }
        Ok(())
    })?;
    // The index may follow the item.
    if let Some(call) = item {
        let id = calls.at(index);
        edits.complete(call, "call_id", &id);
    }
    Ok(())
}

fn read_output(
    calls: &mut ForwardedCalls,
    cursor: &mut Cursor<'_>,
    edits: &mut Edits,
) -> ReadResult<()> {
    let mut index = 0;
    cursor.array(|cursor| {
        if cursor.peek()? == JsonKind::Object
            && let Some(call) = read_item(cursor)?
        {
            let id = calls.at(Some(index));
            edits.complete(call, "call_id", &id);
        }
        index += 1;
        Ok(())
    })
}

/// Reads an item; none if it is not a call.
fn read_item(cursor: &mut Cursor<'_>) -> ReadResult<Option<CallObject>> {
    let mut is_call = false;
    let call = CallObject::read(cursor, "call_id", |key, cursor| {
        if key == "type" {
            let kind = cursor.maybe_string()?;
            is_call = matches!(kind.as_deref(), Some("function_call" | "custom_tool_call"));
        }
        Ok(())
    })?;
    Ok(is_call.then_some(call))
}
