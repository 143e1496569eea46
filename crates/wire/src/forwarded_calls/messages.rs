//! Messages: `id` of the `tool_use` blocks of a message, and of the block with which
//! `content_block_start` begins one.

use super::{CallObject, Edits, ForwardedCalls};
use crate::json::{Cursor, JsonKind, ReadResult};

pub(super) fn read(
    calls: &mut ForwardedCalls,
    cursor: &mut Cursor<'_>,
    edits: &mut Edits,
) -> ReadResult<()> {
    cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
        ("content", JsonKind::Array) => cursor.array(|cursor| read_block(calls, cursor, edits)),
        ("content_block", JsonKind::Object) => read_block(calls, cursor, edits),
        _ => Ok(()),
    })
}

fn read_block(
    calls: &mut ForwardedCalls,
    cursor: &mut Cursor<'_>,
    edits: &mut Edits,
) -> ReadResult<()> {
    if cursor.peek()? != JsonKind::Object {
        return Ok(());
    }
    let mut is_call = false;
    let call = CallObject::read(cursor, "id", |key, cursor| {
        if key == "type" {
            is_call = cursor.maybe_string()?.as_deref() == Some("tool_use");
        }
        Ok(())
    })?;
    if is_call {
        let id = calls.begin(None);
        edits.complete(call, "id", &id);
    }
    Ok(())
}
