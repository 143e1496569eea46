//! Writes SSE events: named, numbered, and with their common fields.

use bytes::BytesMut;
use majordomo_llm::Part;

use super::stream_output::ResponsesOpenMessage;
use super::write_part::{ContentSide, write_block};
use crate::json::{Object, object};

/// Writes and numbers the events of one stream.
#[derive(Default)]
pub(super) struct ResponsesEventWriter {
    sequence: u64,
}

impl ResponsesEventWriter {
    pub(super) fn event(
        &mut self,
        out: &mut BytesMut,
        kind: &str,
        fill: impl FnOnce(&mut Object<'_>),
    ) {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\ndata: ");
        object(out, |o| {
            o.string("type", kind);
            o.number("sequence_number", self.sequence);
            fill(o);
        });
        out.extend_from_slice(b"\n\n");
        self.sequence += 1;
    }

    /// Writes an event that starts or ends an item.
    pub(super) fn item(&mut self, out: &mut BytesMut, kind: &str, place: usize, item: &[u8]) {
        self.event(out, kind, |o| {
            o.number("output_index", place);
            o.value("item").extend_from_slice(item);
        });
    }

    /// Writes an event about the last block of a message.
    pub(super) fn content(
        &mut self,
        out: &mut BytesMut,
        kind: &str,
        message: &ResponsesOpenMessage,
        fill: impl FnOnce(&mut Object<'_>),
    ) {
        self.event(out, kind, |o| {
            o.string("item_id", &message.id);
            o.number("output_index", message.place);
            o.number("content_index", message.content_index());
            fill(o);
        });
    }

    /// Writes an event that starts or ends the last block of a message.
    pub(super) fn block(&mut self, out: &mut BytesMut, kind: &str, message: &ResponsesOpenMessage) {
        let Some(part) = message.parts.last() else {
            return;
        };
        self.content(out, kind, message, |o| match part {
            Part::Opaque(opaque) => o.raw("part", opaque.raw.as_str()),
            part @ (Part::Text(_)
            | Part::Refusal(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::Reasoning(_)
            | Part::ToolCall(_)
            | Part::ToolResult(_)
            | Part::File(_)) => o.object("part", |o| {
                write_block(part, ContentSide::Response, part.native(), o);
            }),
        });
    }

    /// Writes an event about a summary; every item has one.
    pub(super) fn summary(
        &mut self,
        out: &mut BytesMut,
        kind: &str,
        (place, id): (usize, &str),
        fill: impl FnOnce(&mut Object<'_>),
    ) {
        self.event(out, kind, |o| {
            o.string("item_id", id);
            o.number("output_index", place);
            o.number("summary_index", 0);
            fill(o);
        });
    }
}

/// Writes the only part of a summary.
pub(super) fn summary_part(object: &mut Object<'_>, text: &str) {
    object.object("part", |o| {
        o.string("type", "summary_text");
        o.string("text", text);
    });
}
