//! Writing a request back to its own dialect without touching what is the same.
//!
//! The source's bytes are walked once more and copied, except for the values
//! that changed. How a writer finds those: it writes the top-level [`Fields`]
//! of the prompt *as it was read* and *as it is now* and compares the two, so no
//! codec has a second list of fields to keep in step; messages and parts are
//! compared as values and [`align`]ed with the elements that they came from.

mod align;
mod fields;
mod object;

#[cfg(test)]
mod tests;

pub(crate) use align::{Origin, align};
pub(crate) use fields::{Edit, Fields};
pub(crate) use object::{Fate, Rewrite, elements, member, object};

use bytes::{Bytes, BytesMut};

use crate::Outgoing;
use crate::json::{Object, write_string};

/// An untouched request of a dialect that has `model` and `stream` in its body:
/// its own bytes but for these two. `streams` says what an absent `stream` means.
pub(crate) fn untouched(source: &Bytes, to: &Outgoing<'_>, streams: bool) -> Bytes {
    let Ok(text) = std::str::from_utf8(source) else {
        return source.clone();
    };
    let mut out = BytesMut::with_capacity(source.len() + to.model.len() + 24);
    match object(text, &mut out, &mut Head::new(to, streams)) {
        true => out.freeze(),
        false => source.clone(),
    }
}

/// `model` and `stream`, which belong to the attempt and not to the prompt.
struct Head<'t> {
    to: &'t Outgoing<'t>,
    has_model: bool,
    /// What the body says so far, or what its silence means.
    streams: bool,
}

impl<'t> Head<'t> {
    fn new(to: &'t Outgoing<'t>, streams: bool) -> Self {
        Self {
            to,
            has_model: false,
            streams,
        }
    }

    /// Decides on one of the two; nothing for any other key.
    fn own(&mut self, key: &str, value: &str, out: &mut BytesMut) -> Option<Fate> {
        match key {
            "model" => {
                self.has_model = true;
                write_string(out, self.to.model);
                Some(Fate::Replace)
            }
            "stream" => {
                self.streams = self.to.stream;
                if (value == "true") == self.to.stream {
                    return Some(Fate::Keep);
                }
                out.extend_from_slice(if self.to.stream { b"true" } else { b"false" });
                Some(Fate::Replace)
            }
            _ => None,
        }
    }
}

impl Rewrite for Head<'_> {
    fn field(&mut self, key: &str, value: &str, out: &mut BytesMut) -> Fate {
        self.own(key, value, out).unwrap_or(Fate::Keep)
    }

    fn end(&mut self, object: &mut Object<'_>) {
        if !self.has_model {
            object.string("model", self.to.model);
        }
        if self.streams != self.to.stream {
            object.bool("stream", self.to.stream);
        }
    }
}
