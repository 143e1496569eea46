//! Writes the content blocks of a stream one after the other.
//!
//! Tool calls may interleave in the contract, content blocks may not: the first
//! open block is written as it grows, and later ones are queued.

use std::collections::VecDeque;

use bytes::BytesMut;
use majordomo_llm::{Json, Native, Reasoning};
use memchr::memchr2_iter;

use super::MESSAGES;
use super::write_part::{is_redacted, write_native, write_thinking};
use crate::json::{Object, object};
use crate::loss::Losses;
use crate::splice::elements;

/// Blocks that are not completely written.
#[derive(Default)]
pub(super) struct MessagesBlockQueue {
    queue: VecDeque<QueuedBlock>,
    /// Blocks started on the wire, which is also the next free index.
    begun: usize,
}

/// One block.
pub(super) struct QueuedBlock {
    pub(super) kind: QueuedBlockKind,
    /// Content that is not written yet.
    pub(super) waiting: String,
    pub(super) native: Option<Box<Native>>,
    pub(super) ended: bool,
    on_wire: bool,
}

pub(super) enum QueuedBlockKind {
    Text,
    Thinking,
    Call {
        /// The index of the call among the events.
        index: usize,
        id: String,
        name: String,
    },
    /// A block of this dialect, written verbatim.
    Whole(Json),
}

impl QueuedBlock {
    pub(super) fn new(kind: QueuedBlockKind, text: &str) -> Self {
        Self {
            ended: matches!(kind, QueuedBlockKind::Whole(_)),
            kind,
            waiting: text.to_owned(),
            native: None,
            on_wire: false,
        }
    }
}

impl MessagesBlockQueue {
    /// The latest block, if it is open and not a tool call.
    pub(super) fn open(&mut self) -> Option<&mut QueuedBlock> {
        let open = |block: &&mut QueuedBlock| {
            !block.ended && !matches!(block.kind, QueuedBlockKind::Call { .. })
        };
        self.queue.back_mut().filter(open)
    }

    /// The call with this index.
    pub(super) fn call(&mut self, wanted: usize) -> Option<&mut QueuedBlock> {
        self.queue.iter_mut().find(|block| match block.kind {
            QueuedBlockKind::Call { index, .. } => index == wanted,
            _ => false,
        })
    }

    /// Appends a block, ending an open text or thinking block.
    pub(super) fn push(&mut self, block: QueuedBlock) {
        self.end_open();
        self.queue.push_back(block);
    }

    pub(super) fn end_open(&mut self) {
        if let Some(open) = self.open() {
            open.ended = true;
        }
    }

    pub(super) fn end_all(&mut self) {
        for block in &mut self.queue {
            block.ended = true;
        }
    }

    /// Whether anything can be written.
    pub(super) fn has_output(&self) -> bool {
        self.queue
            .front()
            .is_some_and(|block| block.ended || block.can_start())
    }

    /// Writes everything that can be written now.
    pub(super) fn flush(&mut self, out: &mut BytesMut, losses: &mut Losses) {
        while let Some(block) = self.queue.front_mut() {
            block.grow(&mut self.begun, out);
            if !block.ended {
                return;
            }
            block.end(&mut self.begun, out, losses);
            self.queue.pop_front();
        }
    }
}

impl QueuedBlock {
    /// Whether the block can start before its end is known. A thinking block
    /// without text may turn out to be empty.
    fn can_start(&self) -> bool {
        match self.kind {
            QueuedBlockKind::Text | QueuedBlockKind::Thinking => !self.waiting.is_empty(),
            QueuedBlockKind::Call { .. } => true,
            QueuedBlockKind::Whole(_) => false,
        }
    }

    fn grow(&mut self, begun: &mut usize, out: &mut BytesMut) {
        if !self.on_wire && self.can_start() {
            self.begin(begun, out);
        }
        if self.waiting.is_empty() {
            return;
        }
        let (kind, key) = match self.kind {
            QueuedBlockKind::Text => ("text_delta", "text"),
            QueuedBlockKind::Thinking => ("thinking_delta", "thinking"),
            QueuedBlockKind::Call { .. } => ("input_json_delta", "partial_json"),
            QueuedBlockKind::Whole(_) => return,
        };
        write_delta(*begun - 1, kind, out, |o| o.string(key, &self.waiting));
        self.waiting.clear();
    }

    fn begin(&mut self, begun: &mut usize, out: &mut BytesMut) {
        self.on_wire = true;
        write_block_start(begun, out, |o| match &self.kind {
            QueuedBlockKind::Text => {
                o.string("type", "text");
                o.string("text", "");
            }
            QueuedBlockKind::Thinking => write_thinking(&Reasoning::default(), None, o),
            QueuedBlockKind::Call { id, name, .. } => {
                o.string("type", "tool_use");
                o.string("id", id);
                o.string("name", name);
                o.raw("input", "{}");
                write_native(o, self.native.as_deref());
            }
            QueuedBlockKind::Whole(_) => {}
        });
    }

    /// Writes what is only known at the end: citations, a signature, a whole
    /// block.
    fn end(&mut self, begun: &mut usize, out: &mut BytesMut, losses: &mut Losses) {
        let native = losses.own(self.native.as_deref(), &MESSAGES);
        match &self.kind {
            QueuedBlockKind::Whole(raw) => {
                write_whole_block(begun, out, raw.as_str());
                self.on_wire = true;
            }
            QueuedBlockKind::Thinking if !self.on_wire && native.is_some() => {
                let whole = native.filter(|native| is_redacted(native));
                write_block_start(begun, out, |o| {
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
            QueuedBlockKind::Text => {
                let citations = get("citations").and_then(|list| elements(list.as_str()));
                for citation in citations.unwrap_or_default() {
                    write_delta(*begun - 1, "citations_delta", out, |o| {
                        o.raw("citation", citation);
                    });
                }
            }
            QueuedBlockKind::Thinking => {
                if let Some(signature) = get("signature") {
                    write_delta(*begun - 1, "signature_delta", out, |o| {
                        o.raw("signature", signature.as_str());
                    });
                }
            }
            _ => {}
        }
        write_event("content_block_stop", out, |o| o.number("index", *begun - 1));
    }
}

fn write_block_start(begun: &mut usize, out: &mut BytesMut, fill: impl FnOnce(&mut Object<'_>)) {
    write_event("content_block_start", out, |o| {
        o.number("index", *begun);
        o.object("content_block", fill);
    });
    *begun += 1;
}

fn write_whole_block(begun: &mut usize, out: &mut BytesMut, raw: &str) {
    write_event("content_block_start", out, |o| {
        o.number("index", *begun);
        o.raw("content_block", raw);
    });
    *begun += 1;
}

fn write_delta(index: usize, kind: &str, out: &mut BytesMut, fill: impl FnOnce(&mut Object<'_>)) {
    write_event("content_block_delta", out, |o| {
        o.number("index", index);
        o.object("delta", |o| {
            o.string("type", kind);
            fill(o);
        });
    });
}

/// Writes one event with its name, which clients require.
pub(super) fn write_event(name: &str, out: &mut BytesMut, fill: impl FnOnce(&mut Object<'_>)) {
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

/// A provider's JSON may span lines. Line breaks cannot occur inside strings,
/// so a space is equivalent.
fn on_one_line(data: &mut [u8]) {
    let ends: Vec<usize> = memchr2_iter(b'\n', b'\r', data).collect();
    for at in ends {
        data[at] = b' ';
    }
}
