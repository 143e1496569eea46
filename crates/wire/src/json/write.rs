//! Writes compact JSON into a buffer, field by field.

use std::fmt::{Display, Write};

use bytes::{BufMut, BytesMut};
use majordomo_llm::Native;

use super::plain::run_end;

/// Writes an object; `fill` adds its fields.
pub(crate) fn object(out: &mut BytesMut, fill: impl FnOnce(&mut Object<'_>)) {
    out.put_u8(b'{');
    fill(&mut Object { out, first: true });
    out.put_u8(b'}');
}

/// Writes an array; `fill` adds its elements.
pub(crate) fn write_array(out: &mut BytesMut, fill: impl FnOnce(&mut Array<'_>)) {
    out.put_u8(b'[');
    fill(&mut Array { out, first: true });
    out.put_u8(b']');
}

/// An object under construction.
pub(crate) struct Object<'b> {
    out: &'b mut BytesMut,
    first: bool,
}

impl<'b> Object<'b> {
    /// Continues an object whose brace is written; `first` if it has no fields
    /// yet.
    pub(crate) fn resume(out: &'b mut BytesMut, first: bool) -> Self {
        Self { out, first }
    }

    /// Writes a key; the caller must write exactly one value.
    pub(crate) fn value(&mut self, key: &str) -> &mut BytesMut {
        if !self.first {
            self.out.put_u8(b',');
        }
        self.first = false;
        write_string(self.out, key);
        self.out.put_u8(b':');
        self.out
    }

    pub(crate) fn string(&mut self, key: &str, value: &str) {
        write_string(self.value(key), value);
    }

    pub(crate) fn bool(&mut self, key: &str, value: bool) {
        self.raw(key, if value { "true" } else { "false" });
    }

    /// Writes a number, as formatted by `Display`.
    pub(crate) fn number(&mut self, key: &str, value: impl Display) {
        let _ = write!(self.value(key), "{value}");
    }

    /// Writes a value that is already JSON text.
    pub(crate) fn raw(&mut self, key: &str, value: &str) {
        self.value(key).extend_from_slice(value.as_bytes());
    }

    pub(crate) fn object(&mut self, key: &str, fill: impl FnOnce(&mut Object<'_>)) {
        object(self.value(key), fill);
    }

    pub(crate) fn array(&mut self, key: &str, fill: impl FnOnce(&mut Array<'_>)) {
        write_array(self.value(key), fill);
    }

    /// Writes the dialect's native fields at this level. A name with a dot
    /// belongs one level down (`function.x`) and is written by
    /// [`Object::nested`].
    pub(crate) fn native(&mut self, native: Option<&Native>) {
        for (name, value) in native.into_iter().flat_map(Native::fields) {
            if !name.contains('.') {
                self.raw(name, value.as_str());
            }
        }
    }

    /// Writes the dialect's native fields that belong inside the object named
    /// `inside`.
    pub(crate) fn nested(&mut self, native: Option<&Native>, inside: &str) {
        for (name, value) in native.into_iter().flat_map(Native::fields) {
            let inner = name.strip_prefix(inside).and_then(|n| n.strip_prefix('.'));
            if let Some(inner) = inner {
                self.raw(inner, value.as_str());
            }
        }
    }
}

/// An array under construction.
pub(crate) struct Array<'b> {
    out: &'b mut BytesMut,
    first: bool,
}

impl Array<'_> {
    /// Starts an element; the caller must write exactly one.
    pub(crate) fn value(&mut self) -> &mut BytesMut {
        if !self.first {
            self.out.put_u8(b',');
        }
        self.first = false;
        self.out
    }

    pub(crate) fn string(&mut self, value: &str) {
        write_string(self.value(), value);
    }

    /// Writes an element that is already JSON text.
    pub(crate) fn raw(&mut self, value: &str) {
        self.value().extend_from_slice(value.as_bytes());
    }

    pub(crate) fn object(&mut self, fill: impl FnOnce(&mut Object<'_>)) {
        object(self.value(), fill);
    }

    /// Writes an element, and removes it again if `write` returns false.
    pub(crate) fn maybe(&mut self, write: impl FnOnce(&mut BytesMut) -> bool) {
        let (start, first) = (self.out.len(), self.first);
        if !write(self.value()) {
            self.out.truncate(start);
            self.first = first;
        }
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Writes a JSON string.
pub(crate) fn write_string(out: &mut BytesMut, text: &str) {
    out.reserve(text.len() + 2);
    out.put_u8(b'"');
    let bytes = text.as_bytes();
    let mut start = 0;
    loop {
        let stop = run_end(bytes, start);
        out.extend_from_slice(&bytes[start..stop]);
        let Some(byte) = bytes.get(stop) else {
            break;
        };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            other => {
                let digit = |value: u8| HEX[usize::from(value & 0xf)];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[digit(other >> 4), digit(*other)]);
            }
        }
        start = stop + 1;
    }
    out.put_u8(b'"');
}
