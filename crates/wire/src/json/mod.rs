//! Reading and writing JSON at the levels that the codecs judge.
//!
//! A request is walked once with a [`Cursor`]: what is modelled becomes a
//! value, everything else is kept as the client's own text. That is why this is
//! not a serde type: a derived one cannot hand out the text of a value that it
//! has also read, and needs a second pass over every message for it.
//!
//! - Strict: the text is checked in full, nesting is limited to [`MAX_DEPTH`]
//!   and [`Cursor::object`] refuses a key that comes twice, so that nobody
//!   behind us can read another request out of the same bytes, and keys without
//!   end, of which each would be kept.
//! - Errors name the place as a JSON path. It is worked out from the offset
//!   when an error happens, so the good case pays nothing for it.

mod cursor;
mod error;
mod number;
mod path;
mod skip;
mod string;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use cursor::{Cursor, Kind};
pub use error::ReadError;
pub(crate) use error::{Fault, Read};
pub(crate) use write::{Array, Object, object, write_array, write_string};

use majordomo_llm::{Dialect, Json, Native};

/// How deep values may be nested, the outermost one counted.
pub(crate) const MAX_DEPTH: usize = 128;

/// Reads one JSON document with `read`, and nothing behind it.
pub(crate) fn read<'a, T>(
    body: &'a [u8],
    read: impl FnOnce(&mut Cursor<'a>) -> Read<T>,
) -> Result<T, ReadError> {
    let text = std::str::from_utf8(body).map_err(|error| {
        ReadError::new(
            "",
            format!("not UTF-8 text at byte {}", error.valid_up_to()),
        )
    })?;
    read_str(text, read)
}

/// Reads one JSON document that is known to be UTF-8.
pub(crate) fn read_str<'a, T>(
    text: &'a str,
    read: impl FnOnce(&mut Cursor<'a>) -> Read<T>,
) -> Result<T, ReadError> {
    let mut cursor = Cursor::new(text);
    read(&mut cursor)
        .and_then(|value| cursor.end().map(|()| value))
        .map_err(|fault| ReadError::new(path::of(text, fault.at), fault.what))
}

/// Whether a text is one complete JSON value.
pub(crate) fn is_complete(text: &str) -> bool {
    read_str(text, Cursor::raw).is_ok()
}

/// The text of a value that a cursor has checked, as a contract value.
pub(crate) fn keep(raw: &str) -> Json {
    Json::parse(raw).expect("the cursor checked the text")
}

/// Collects fields that the contract does not model, in the order in which they come.
#[derive(Default)]
pub(crate) struct Rest(Vec<(String, Json)>);

impl Rest {
    /// Keeps the value under the cursor; `null` is kept, too, since a client sent it.
    pub(crate) fn take(&mut self, name: impl Into<String>, cursor: &mut Cursor<'_>) -> Read<()> {
        let raw = cursor.raw()?;
        self.0.push((name.into(), keep(raw)));
        Ok(())
    }

    /// Keeps a field whose value was worked out.
    pub(crate) fn push(&mut self, name: impl Into<String>, value: Json) {
        self.0.push((name.into(), value));
    }

    /// The same fields, marked as belonging inside the object of this name.
    pub(crate) fn inside(self, name: &str) -> Self {
        let marked = |(field, value)| (format!("{name}.{field}"), value);
        Self(self.0.into_iter().map(marked).collect())
    }

    /// Whether nothing was kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the fields of another level behind these.
    pub(crate) fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The fields as a dialect's own; nothing when there are none.
    pub(crate) fn into_native(self, dialect: Dialect) -> Option<Box<Native>> {
        let mut native = Native::new(dialect);
        for (name, value) in self.0 {
            native.push(name, value);
        }
        native.into_option()
    }
}
