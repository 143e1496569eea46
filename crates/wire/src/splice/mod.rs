//! Writes a request back to its own dialect without touching unchanged parts.
//!
//! Copies the source's bytes, except for changed values. To find those, a writer
//! writes the top-level [`BodyFields`] of the prompt *as it was read* and *as it is
//! now* and compares the two, so no codec maintains a second list of fields.
//! Messages and parts are compared as values and [`align`]ed with the elements they
//! came from.
//!
//! Uses `json`, and no other sibling module.

mod align;
mod fields;
mod object;
mod spans;

#[cfg(test)]
mod tests;

pub(crate) use align::{ElementOrigin, align};
pub(crate) use fields::{BodyEdit, BodyFields, ToolsField};
pub(crate) use object::{FieldAction, Rewrite, elements, member, object};
pub(crate) use spans::read_body;

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Dialect, Prompt, Request, WireSource};

use crate::Outgoing;
use crate::json::{Object, write_string};

/// Writes an unedited request of a dialect that has `model` and `stream` in its
/// body: its own bytes except for these two. `streams` is the meaning of an
/// absent `stream`. `None` if it was edited.
pub(crate) fn untouched(
    request: &Request,
    dialect: &Dialect,
    to: &Outgoing<'_>,
    streams: bool,
) -> Option<Bytes> {
    let bytes = request.untouched(dialect)?;
    let spans = request.source().and_then(WireSource::spans);
    Some(match spans {
        Some(spans) => spans::replace(bytes, spans, to, streams),
        None => copy(bytes, to, streams),
    })
}

/// The source of an edited request of a dialect, into which the changes can be spliced. `None`
/// if an image was removed from a place that no codec reads, because a splice would keep it.
pub(crate) fn source<'r>(request: &'r Request, dialect: &Dialect) -> Option<&'r WireSource> {
    let unread = |prompt: &Prompt| prompt.unread_images.len();
    request.source().filter(|source| {
        source.dialect() == dialect && unread(source.prompt()) == unread(request.prompt())
    })
}

/// A buffer for a body that is written from scratch: about as large as the client's.
pub(crate) fn body_buffer(request: &Request) -> BytesMut {
    let source = request.source().map_or(0, |source| source.bytes().len());
    BytesMut::with_capacity(source + source / 8 + 512)
}

/// Reads the body again, for one whose reader recorded no spans.
fn copy(source: &Bytes, to: &Outgoing<'_>, streams: bool) -> Bytes {
    let Ok(text) = std::str::from_utf8(source) else {
        return source.clone();
    };
    let mut out = BytesMut::with_capacity(source.len() + to.model.len() + 24);
    match object(text, &mut out, &mut ModelAndStream::new(to, streams)) {
        true => out.freeze(),
        false => source.clone(),
    }
}

/// `model` and `stream`, which belong to the attempt and not to the prompt.
struct ModelAndStream<'t> {
    to: &'t Outgoing<'t>,
    has_model: bool,
    /// The value so far, or the meaning of its absence.
    streams: bool,
}

impl<'t> ModelAndStream<'t> {
    fn new(to: &'t Outgoing<'t>, streams: bool) -> Self {
        Self {
            to,
            has_model: false,
            streams,
        }
    }

    /// Handles one of the two; `None` for any other key.
    fn own(&mut self, key: &str, value: &str, out: &mut BytesMut) -> Option<FieldAction> {
        match key {
            "model" => {
                self.has_model = true;
                write_string(out, self.to.model);
                Some(FieldAction::Replace)
            }
            "stream" => {
                self.streams = self.to.stream;
                if (value == "true") == self.to.stream {
                    return Some(FieldAction::Keep);
                }
                out.extend_from_slice(if self.to.stream { b"true" } else { b"false" });
                Some(FieldAction::Replace)
            }
            _ => None,
        }
    }
}

impl Rewrite for ModelAndStream<'_> {
    fn field(&mut self, key: &str, value: &str, out: &mut BytesMut) -> FieldAction {
        self.own(key, value, out).unwrap_or(FieldAction::Keep)
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
