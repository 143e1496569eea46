//! Writes compact JSON into a buffer, field by field.

use std::fmt::{Display, Write};

use bytes::{BufMut, BytesMut};
use majordomo_llm::Native;

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

/// An object that is being written.
pub(crate) struct Object<'b> {
    out: &'b mut BytesMut,
    first: bool,
}

impl<'b> Object<'b> {
    /// Goes on with an object whose brace is written; `first` if no field is.
    pub(crate) fn resume(out: &'b mut BytesMut, first: bool) -> Self {
        Self { out, first }
    }

    /// Writes a key; the caller writes the value, and exactly one.
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

    /// A number, as its `Display` writes it.
    pub(crate) fn number(&mut self, key: &str, value: impl Display) {
        let _ = write!(self.value(key), "{value}");
    }

    /// A value that is JSON text already.
    pub(crate) fn raw(&mut self, key: &str, value: &str) {
        self.value(key).extend_from_slice(value.as_bytes());
    }

    pub(crate) fn object(&mut self, key: &str, fill: impl FnOnce(&mut Object<'_>)) {
        object(self.value(key), fill);
    }

    pub(crate) fn array(&mut self, key: &str, fill: impl FnOnce(&mut Array<'_>)) {
        write_array(self.value(key), fill);
    }

    /// The dialect's own fields at this level. A name with a dot belongs one
    /// level down (`function.x`) and is written by [`Object::nested`].
    pub(crate) fn native(&mut self, native: Option<&Native>) {
        for (name, value) in native.into_iter().flat_map(Native::fields) {
            if !name.contains('.') {
                self.raw(name, value.as_str());
            }
        }
    }

    /// The dialect's own fields that belong inside the object named `inside`.
    pub(crate) fn nested(&mut self, native: Option<&Native>, inside: &str) {
        for (name, value) in native.into_iter().flat_map(Native::fields) {
            let inner = name.strip_prefix(inside).and_then(|n| n.strip_prefix('.'));
            if let Some(inner) = inner {
                self.raw(inner, value.as_str());
            }
        }
    }
}

/// An array that is being written.
pub(crate) struct Array<'b> {
    out: &'b mut BytesMut,
    first: bool,
}

impl Array<'_> {
    /// Makes room for an element; the caller writes it, and exactly one.
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

    /// An element that is JSON text already.
    pub(crate) fn raw(&mut self, value: &str) {
        self.value().extend_from_slice(value.as_bytes());
    }

    pub(crate) fn object(&mut self, fill: impl FnOnce(&mut Object<'_>)) {
        object(self.value(), fill);
    }

    /// An element that is taken back if `write` says that it came to nothing.
    pub(crate) fn maybe(&mut self, write: impl FnOnce(&mut BytesMut) -> bool) {
        let (start, first) = (self.out.len(), self.first);
        if !write(self.value()) {
            self.out.truncate(start);
            self.first = first;
        }
    }
}

/// Writes a JSON string.
pub(crate) fn write_string(out: &mut BytesMut, text: &str) {
    out.reserve(text.len() + 2);
    out.put_u8(b'"');
    let bytes = text.as_bytes();
    let mut start = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if *byte >= 0x20 && *byte != b'"' && *byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[start..at]);
        start = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            other => {
                let _ = write!(out, "\\u{other:04x}");
            }
        }
    }
    out.extend_from_slice(&bytes[start..]);
    out.put_u8(b'"');
}
