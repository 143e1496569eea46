//! Copies an object with some of its values replaced.

use bytes::{BufMut, BytesMut};

use crate::json::{self, Cursor, JsonKind, Object};

/// What happens to a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldAction {
    /// Its bytes are copied.
    Keep,
    /// A new value was written.
    Replace,
    /// It is removed.
    Remove,
}

/// Edits the fields of an object while it is copied.
pub(crate) trait Rewrite {
    /// Receives a key and its value, and may write another value.
    fn field(&mut self, key: &str, value: &str, out: &mut BytesMut) -> FieldAction;

    /// Adds fields at the end.
    fn end(&mut self, _object: &mut Object<'_>) {}
}

impl<F: FnMut(&str, &str, &mut BytesMut) -> FieldAction> Rewrite for F {
    fn field(&mut self, key: &str, value: &str, out: &mut BytesMut) -> FieldAction {
        self(key, value, out)
    }
}

/// Copies `source`, keeping key order and whitespace. Returns false and writes
/// nothing if it is not an object, which cannot happen for a decoded request.
pub(crate) fn object(source: &str, out: &mut BytesMut, rewrite: &mut impl Rewrite) -> bool {
    let start = out.len();
    let mut copied_to = 0;
    let mut first = true;
    let read = json::read_str(source, |cursor| {
        cursor.loose_object(|key, cursor| {
            let value_start = cursor.offset();
            let value = cursor.raw()?;
            // Whitespace, brace or comma, and key. The first field that is kept
            // gets the brace.
            let lead = &source[copied_to..value_start];
            let (space, key_text) = lead.split_once(['{', ',']).unwrap_or(("", lead));
            let before = out.len();
            out.extend_from_slice(space.as_bytes());
            out.put_u8(if first { b'{' } else { b',' });
            out.extend_from_slice(key_text.as_bytes());
            match rewrite.field(key, value, out) {
                FieldAction::Keep => {
                    out.extend_from_slice(value.as_bytes());
                    first = false;
                }
                FieldAction::Replace => first = false,
                FieldAction::Remove => out.truncate(before),
            }
            copied_to = value_start + value.len();
            Ok(())
        })
    });
    if read.is_err() {
        out.truncate(start);
        return false;
    }
    if first {
        out.put_u8(b'{');
    }
    rewrite.end(&mut Object::resume(out, first));
    let tail = &source[copied_to..];
    let closing = if first {
        tail.trim_start_matches([' ', '\n', '\r', '\t', '{'])
    } else {
        tail
    };
    out.extend_from_slice(closing.as_bytes());
    true
}

/// The texts of an array's elements; `None` if it is not an array.
pub(crate) fn elements(source: &str) -> Option<Vec<&str>> {
    let mut elements = Vec::new();
    json::read_str(source, |cursor| {
        cursor.array(|cursor| {
            elements.push(cursor.raw()?);
            Ok(())
        })
    })
    .ok()?;
    Some(elements)
}

/// The text of a field's value.
pub(crate) fn member<'s>(source: &'s str, name: &str) -> Option<&'s str> {
    let mut found = None;
    json::read_str(source, |cursor: &mut Cursor<'s>| match cursor.peek()? {
        JsonKind::Object => cursor.loose_object(|key, cursor| {
            if key == name {
                found = Some(cursor.raw()?);
            }
            Ok(())
        }),
        _ => cursor.raw().map(drop),
    })
    .ok()?;
    found
}
