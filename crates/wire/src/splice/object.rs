//! Copies an object with some of its values replaced.

use bytes::{BufMut, BytesMut};
use majordomo_llm::FieldSpan;

use crate::json::{self, Cursor, JsonKind, Object};

/// The result of an edit for a field.
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
    let mut copy = ObjectCopy::new(source);
    let read = json::read_str(source, |cursor| {
        cursor.loose_object(|key, cursor| {
            let value_start = cursor.offset();
            let value = cursor.raw()?;
            copy.field(key, value_start, value, out, rewrite);
            Ok(())
        })
    });
    match read {
        Ok(()) => copy.end(out, rewrite),
        Err(_) => out.truncate(start),
    }
    read.is_ok()
}

/// Like [`object`], for a source whose fields were recorded. Returns false and writes
/// nothing if they do not belong to it.
pub(super) fn recorded(
    source: &str,
    fields: &[FieldSpan],
    out: &mut BytesMut,
    rewrite: &mut impl Rewrite,
) -> bool {
    let start = out.len();
    let mut copy = ObjectCopy::new(source);
    for span in fields {
        let key = source.get(span.key.clone());
        let Some((key, value)) = key.zip(source.get(span.value.clone())) else {
            out.truncate(start);
            return false;
        };
        copy.field(key, span.value.start, value, out, rewrite);
    }
    copy.end(out, rewrite);
    true
}

/// An object that is being copied.
struct ObjectCopy<'s> {
    source: &'s str,
    copied_to: usize,
    /// No field was written yet.
    first: bool,
}

impl<'s> ObjectCopy<'s> {
    fn new(source: &'s str) -> Self {
        Self {
            source,
            copied_to: 0,
            first: true,
        }
    }

    /// Copies the next field, whose value is at `value_start`.
    fn field(
        &mut self,
        key: &str,
        value_start: usize,
        value: &str,
        out: &mut BytesMut,
        rewrite: &mut impl Rewrite,
    ) {
        // Whitespace, brace or comma, and key. The first field that is kept gets the
        // brace.
        let lead = &self.source[self.copied_to..value_start];
        let (space, key_text) = lead.split_once(['{', ',']).unwrap_or(("", lead));
        let before = out.len();
        out.extend_from_slice(space.as_bytes());
        out.put_u8(if self.first { b'{' } else { b',' });
        out.extend_from_slice(key_text.as_bytes());
        match rewrite.field(key, value, out) {
            FieldAction::Keep => {
                out.extend_from_slice(value.as_bytes());
                self.first = false;
            }
            FieldAction::Replace => self.first = false,
            FieldAction::Remove => out.truncate(before),
        }
        self.copied_to = value_start + value.len();
    }

    /// Adds new fields and copies the remaining ones.
    fn end(self, out: &mut BytesMut, rewrite: &mut impl Rewrite) {
        if self.first {
            out.put_u8(b'{');
        }
        rewrite.end(&mut Object::resume(out, self.first));
        let tail = &self.source[self.copied_to..];
        let closing = if self.first {
            tail.trim_start_matches([' ', '\n', '\r', '\t', '{'])
        } else {
            tail
        };
        out.extend_from_slice(closing.as_bytes());
    }
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
