//! Copies an object with some of its values replaced.

use bytes::{BufMut, BytesMut};

use crate::json::{self, Cursor, Kind, Object};

/// What becomes of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Its bytes are copied.
    Keep,
    /// The new value was written.
    Replace,
    /// It is left out.
    Remove,
}

/// Decides on the fields of an object that is copied.
pub(crate) trait Rewrite {
    /// Sees a key and its value, and may write another value.
    fn field(&mut self, key: &str, value: &str, out: &mut BytesMut) -> Fate;

    /// Adds fields at the end.
    fn end(&mut self, _object: &mut Object<'_>) {}
}

impl<F: FnMut(&str, &str, &mut BytesMut) -> Fate> Rewrite for F {
    fn field(&mut self, key: &str, value: &str, out: &mut BytesMut) -> Fate {
        self(key, value, out)
    }
}

/// Copies `source` with its key order and white space. False, and nothing
/// written, when it is no object, which cannot be for a request that was read.
pub(crate) fn object(source: &str, out: &mut BytesMut, rewrite: &mut impl Rewrite) -> bool {
    let start = out.len();
    let mut copied_to = 0;
    let mut first = true;
    let read = json::read_str(source, |cursor| {
        cursor.loose_object(|key, cursor| {
            let value_start = cursor.offset();
            let value = cursor.raw()?;
            // White space, brace or comma, and key. The first field that stays
            // gets the brace, whatever stood before it.
            let lead = &source[copied_to..value_start];
            let (space, key_text) = lead.split_once(['{', ',']).unwrap_or(("", lead));
            let before = out.len();
            out.extend_from_slice(space.as_bytes());
            out.put_u8(if first { b'{' } else { b',' });
            out.extend_from_slice(key_text.as_bytes());
            match rewrite.field(key, value, out) {
                Fate::Keep => {
                    out.extend_from_slice(value.as_bytes());
                    first = false;
                }
                Fate::Replace => first = false,
                Fate::Remove => out.truncate(before),
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

/// The texts of an array's elements; none when it is no array.
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

/// The text of one field's value.
pub(crate) fn member<'s>(source: &'s str, name: &str) -> Option<&'s str> {
    let mut found = None;
    json::read_str(source, |cursor: &mut Cursor<'s>| match cursor.peek()? {
        Kind::Object => cursor.loose_object(|key, cursor| {
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
