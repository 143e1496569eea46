//! JSON (RFC 8259) reading and writing, at the levels that the codecs inspect.
//!
//! A [`Cursor`] walks a request once: modelled fields become values, everything
//! else keeps the client's text. A derived serde type cannot do this: it cannot
//! return the text of a value that it has also read, and would need a second pass
//! over every message.
//!
//! - Strict: the whole text is validated, nesting is limited to [`MAX_DEPTH`], and
//!   [`Cursor::object`] rejects duplicate keys, so that no server behind the
//!   gateway can read a different request from the same bytes. It also limits the
//!   number of keys, since every key is stored.
//! - Errors name the JSON path. It is computed from the offset when an error
//!   occurs, so valid input pays nothing for it.
//!
//! Uses no sibling module.

mod cursor;
mod error;
mod number;
pub(crate) mod objects;
mod path;
mod plain;
mod skip;
mod string;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use cursor::{Cursor, JsonKind};
pub use error::ReadError;
pub(crate) use error::{Fault, ReadResult};
pub(crate) use write::{Array, Object, object, write_array, write_string};

use std::ops::Range;

use majordomo_llm::{Dialect, Json, Native};

/// Maximum nesting depth, including the outermost value.
pub(crate) const MAX_DEPTH: usize = 128;

/// Reads one JSON document with `read`, rejecting trailing data.
pub(crate) fn read<'a, T>(
    body: &'a [u8],
    read: impl FnOnce(&mut Cursor<'a>) -> ReadResult<T>,
) -> Result<T, ReadError> {
    let text = std::str::from_utf8(body).map_err(|error| {
        ReadError::new("", format!("invalid UTF-8 at byte {}", error.valid_up_to()))
    })?;
    read_str(text, read)
}

/// Reads one JSON document that is known to be UTF-8.
pub(crate) fn read_str<'a, T>(
    text: &'a str,
    read: impl FnOnce(&mut Cursor<'a>) -> ReadResult<T>,
) -> Result<T, ReadError> {
    let mut cursor = Cursor::new(text);
    read(&mut cursor)
        .and_then(|value| cursor.end().map(|()| value))
        .map_err(|fault| ReadError::new(path::path_at(text, fault.at), fault.what))
}

/// Like [`read`], but also returns the positions of objects and arrays that no reader took.
pub(crate) fn read_recording<'a, T>(
    body: &'a [u8],
    read: impl FnOnce(&mut Cursor<'a>) -> ReadResult<T>,
) -> Result<(T, Vec<Range<usize>>), ReadError> {
    self::read(body, |cursor| {
        cursor.record_skipped();
        let value = read(cursor)?;
        Ok((value, cursor.take_skipped()))
    })
}

/// Reads the JSON value at the start of a text, ignoring the remaining text.
pub(crate) fn read_front<'a, T>(
    text: &'a str,
    read: impl FnOnce(&mut Cursor<'a>) -> ReadResult<T>,
) -> Option<T> {
    read(&mut Cursor::new(text)).ok()
}

/// Whether a text is one complete JSON value.
pub(crate) fn is_complete(text: &str) -> bool {
    read_str(text, Cursor::raw).is_ok()
}

/// Whether a value is without content: null, or an empty string, list or object.
pub(crate) fn is_empty(raw: &str) -> bool {
    let inner = |open, close| raw.strip_prefix(open)?.strip_suffix(close);
    let container = inner('[', ']').or_else(|| inner('{', '}'));
    raw == "null" || raw == "\"\"" || container.is_some_and(|inner| inner.trim().is_empty())
}

/// Converts a text that a cursor has validated.
pub(crate) fn keep(raw: &str) -> Json {
    Json::from_validated(raw)
}

/// Collects fields that the contract does not model, in document order.
#[derive(Default)]
pub(crate) struct Rest(Vec<(String, Json)>);

impl Rest {
    /// Keeps the next value, even `null`, since a client sent it.
    pub(crate) fn take(
        &mut self,
        name: impl Into<String>,
        cursor: &mut Cursor<'_>,
    ) -> ReadResult<()> {
        let raw = cursor.raw()?;
        self.0.push((name.into(), keep(raw)));
        Ok(())
    }

    /// Keeps a computed field.
    pub(crate) fn push(&mut self, name: impl Into<String>, value: Json) {
        self.0.push((name.into(), value));
    }

    /// Marks the fields as nested inside the object of this name.
    pub(crate) fn inside(self, name: &str) -> Self {
        let marked = |(field, value)| (format!("{name}.{field}"), value);
        Self(self.0.into_iter().map(marked).collect())
    }

    /// Whether no field was kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends the fields of another level.
    pub(crate) fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Converts to a dialect's native fields; `None` if there are none.
    pub(crate) fn into_native(self, dialect: Dialect) -> Option<Box<Native>> {
        let mut native = Native::new(dialect);
        for (name, value) in self.0 {
            native.push(name, value);
        }
        native.into_option()
    }
}
