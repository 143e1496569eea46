//! The blocks of a stream that is written, one after the other.
//!
//! Our calls may interleave, the wire's blocks may not: the first block that
//! has not ended is written as it grows, those behind it wait for their turn.

use std::collections::VecDeque;

use bytes::BytesMut;
use majordomo_llm::{Json, Native, Reasoning};
use memchr::memchr2_iter;

use super::MESSAGES;
use super::write_part::{is_redacted, write_native, write_thinking};
use crate::json::{Object, object};
use crate::loss::Losses;
use crate::splice::elements;

/// Blocks that are not written to their end.
#[derive(Default)]
pub(super) struct Items {
    queue: VecDeque<Item>,
    /// How many blocks have begun on the wire; the first index that is free.
    begun: usize,
}

/// One block.
pub(super) struct Item {
    pub(super) kind: ItemKind,
    /// What has come and is not written.
    pub(super) waiting: String,
    pub(super) native: Option<Box<Native>>,
    pub(super) ended: bool,
    on_wire: bool,
}

pub(super) enum ItemKind {
    Text,
    Thinking,
    Call {
        /// Tells the calls of the events apart.
        index: usize,
        id: String,
        name: String,
    },
    /// A block of this dialect, as it is.
    Whole(Json),
}

impl Item {
    pub(super) fn new(kind: ItemKind, text: &str) -> Self {
        Self {
            ended: matches!(kind, ItemKind::Whole(_)),
            kind,
            waiting: text.to_owned(),
            native: None,
            on_wire: false,
        }
    }
}

impl Items {
    /// The open text or thought, if it is the latest block.
    pub(super) fn open(&mut self) -> Option<&mut Item> {
        let open = |item: &&mut Item| !item.ended && !matches!(item.kind, ItemKind::Call { .. });
        self.queue.back_mut().filter(open)
    }

    /// The call of this index.
    pub(super) fn call(&mut self, wanted: usize) -> Option<&mut Item> {
        self.queue.iter_mut().find(|item| match item.kind {
            ItemKind::Call { index, .. } => index == wanted,
            _ => false,
        })
    }

    /// Adds a block; an open text or thought ends before it.
    pub(super) fn push(&mut self, item: Item) {
        self.end_open();
        self.queue.push_back(item);
    }

    pub(super) fn end_open(&mut self) {
        if let Some(open) = self.open() {
            open.ended = true;
        }
    }

    pub(super) fn end_all(&mut self) {
        for item in &mut self.queue {
            item.ended = true;
        }
    }

    /// Whether there is something to write.
    pub(super) fn wait(&self) -> bool {
        self.queue
            .front()
            .is_some_and(|item| item.ended || item.shows())
    }

    /// Writes whatever can be written now.
    pub(super) fn flush(&mut self, out: &mut BytesMut, losses: &mut Losses) {
        while let Some(item) = self.queue.front_mut() {
            item.grow(&mut self.begun, out);
            if !item.ended {
                return;
            }
            item.end(&mut self.begun, out, losses);
            self.queue.pop_front();
        }
    }
}

impl Item {
    /// Whether it begins on the wire before its end is known. A thought without
    /// text may turn out to be nothing.
    fn shows(&self) -> bool {
        match self.kind {
            ItemKind::Text | ItemKind::Thinking => !self.waiting.is_empty(),
            ItemKind::Call { .. } => true,
            ItemKind::Whole(_) => false,
        }
    }

    fn grow(&mut self, begun: &mut usize, out: &mut BytesMut) {
        if !self.on_wire && self.shows() {
            self.begin(begun, out);
        }
        if self.waiting.is_empty() {
            return;
        }
        let (kind, key) = match self.kind {
            ItemKind::Text => ("text_delta", "text"),
            ItemKind::Thinking => ("thinking_delta", "thinking"),
            ItemKind::Call { .. } => ("input_json_delta", "partial_json"),
            ItemKind::Whole(_) => return,
        };
        delta(*begun - 1, kind, out, |o| o.string(key, &self.waiting));
        self.waiting.clear();
    }

    fn begin(&mut self, begun: &mut usize, out: &mut BytesMut) {
        self.on_wire = true;
        start(begun, out, |o| match &self.kind {
            ItemKind::Text => {
                o.string("type", "text");
                o.string("text", "");
            }
            ItemKind::Thinking => write_thinking(&Reasoning::default(), None, o),
            ItemKind::Call { id, name, .. } => {
                o.string("type", "tool_use");
                o.string("id", id);
                o.string("name", name);
                o.raw("input", "{}");
                write_native(o, self.native.as_deref());
            }
            ItemKind::Whole(_) => {}
        });
    }

    /// Writes what only the end tells: citations, a signature, a block in one piece.
    fn end(&mut self, begun: &mut usize, out: &mut BytesMut, losses: &mut Losses) {
        let native = losses.own(self.native.as_deref(), &MESSAGES);
        match &self.kind {
            ItemKind::Whole(raw) => {
                block(begun, out, raw.as_str());
                self.on_wire = true;
            }
            ItemKind::Thinking if !self.on_wire && native.is_some() => {
                let whole = native.filter(|native| is_redacted(native));
                start(begun, out, |o| {
                    write_thinking(&Reasoning::default(), whole, o);
                });
                self.on_wire = true;
            }
            _ => {}
        }
        if !self.on_wire {
            return;
        }
        let get = |name| native.and_then(|native| native.get(name));
        match self.kind {
            ItemKind::Text => {
                let citations = get("citations").and_then(|list| elements(list.as_str()));
                for citation in citations.unwrap_or_default() {
                    delta(*begun - 1, "citations_delta", out, |o| {
                        o.raw("citation", citation);
                    });
                }
            }
            ItemKind::Thinking => {
                if let Some(signature) = get("signature") {
                    delta(*begun - 1, "signature_delta", out, |o| {
                        o.raw("signature", signature.as_str());
                    });
                }
            }
            _ => {}
        }
        event("content_block_stop", out, |o| o.number("index", *begun - 1));
    }
}

fn start(begun: &mut usize, out: &mut BytesMut, fill: impl FnOnce(&mut Object<'_>)) {
    event("content_block_start", out, |o| {
        o.number("index", *begun);
        o.object("content_block", fill);
    });
    *begun += 1;
}

fn block(begun: &mut usize, out: &mut BytesMut, raw: &str) {
    event("content_block_start", out, |o| {
        o.number("index", *begun);
        o.raw("content_block", raw);
    });
    *begun += 1;
}

fn delta(index: usize, kind: &str, out: &mut BytesMut, fill: impl FnOnce(&mut Object<'_>)) {
    event("content_block_delta", out, |o| {
        o.number("index", index);
        o.object("delta", |o| {
            o.string("type", kind);
            fill(o);
        });
    });
}

/// One event with its name, which clients demand.
pub(super) fn event(name: &str, out: &mut BytesMut, fill: impl FnOnce(&mut Object<'_>)) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\ndata: ");
    let begin = out.len();
    object(out, |o| {
        o.string("type", name);
        fill(o);
    });
    on_one_line(&mut out[begin..]);
    out.extend_from_slice(b"\n\n");
}

/// A provider's own JSON may be spread over lines; outside of strings, where no
/// line can end, a space is as good.
fn on_one_line(data: &mut [u8]) {
    let ends: Vec<usize> = memchr2_iter(b'\n', b'\r', data).collect();
    for at in ends {
        data[at] = b' ';
    }
}
