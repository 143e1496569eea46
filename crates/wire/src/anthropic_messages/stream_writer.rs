//! Writes streamed responses.

use bytes::BytesMut;
use majordomo_llm::{Event, FinishReason, Native, Part, Text, ToolCall, Usage};

use super::stream_block_queue::{MessagesBlockQueue, QueuedBlock, QueuedBlockKind, write_event};
use super::write_part::{BlockPosition, fits, seal_state, write_sealed};
use super::{MESSAGES, call_id, error, finish, usage};
use crate::conversation::CallIds;
use crate::handles_all::handles_all;
use crate::json::{keep, object};
use crate::loss::{LossVerb, Losses};
use crate::sealed_state::seal_call;
use crate::{ClientError, Loss, Reply, StreamWriter};

/// Converts the contract's events into the dialect's.
pub(super) struct MessagesStreamWriter {
    id: String,
    model: String,
    first_call: usize,
    calls: usize,
    ids: CallIds,
    /// Whether the provider's response has started.
    started: bool,
    begun: bool,
    usage: Usage,
    /// Clients that show progress read the input from the start event.
    estimated_input: u64,
    blocks: MessagesBlockQueue,
    /// A refusal is written at the end, in `stop_details`.
    refusal: Option<Text>,
    /// The text of the latest thinking block, which a seal belongs to.
    thought: String,
    losses: Losses,
}

impl MessagesStreamWriter {
    pub(super) fn new(reply: &Reply) -> Self {
        Self {
            id: reply.id.clone(),
            model: reply.model.clone(),
            first_call: reply.first_call,
            calls: 0,
            ids: CallIds::new(|_| true),
            started: false,
            begun: false,
            usage: Usage::default(),
            estimated_input: reply.estimated_input.unwrap_or_default(),
            blocks: MessagesBlockQueue::default(),
            refusal: None,
            thought: String::new(),
            losses: Losses::default(),
        }
    }

    /// Writes the start event, deferred until the first content so that it can
    /// include usage.
    fn begin(&mut self, out: &mut BytesMut) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let mut usage = self.usage;
        if usage == Usage::default() {
            usage.input = self.estimated_input;
        }
        write_event("message_start", out, |o| {
            o.object("message", |o| {
                o.string("id", &self.id);
                o.string("type", "message");
                o.string("role", "assistant");
                o.string("model", &self.model);
                o.raw("content", "[]");
                o.raw("stop_reason", "null");
                o.raw("stop_sequence", "null");
                o.object("usage", |o| usage::write_usage(&usage, o));
            });
        });
    }

    /// Begins a second message if the provider started over; the client discards
    /// the first one.
    fn start(&mut self) {
        let started_over = std::mem::replace(&mut self.started, true);
        if !started_over {
            return;
        }
        // A start with the same id would be a repetition of the first.
        if std::mem::take(&mut self.begun) {
            self.id.push_str("_2");
        }
        self.calls = 0;
        self.usage = Usage::default();
        self.blocks = MessagesBlockQueue::default();
        self.refusal = None;
    }

    fn flush(&mut self, out: &mut BytesMut) {
        if self.blocks.has_output() {
            self.begin(out);
            self.blocks.flush(out, &mut self.losses);
        }
    }

    fn text(&mut self, kind: QueuedBlockKind, text: &str) {
        let same = |block: &&mut QueuedBlock| {
            std::mem::discriminant(&block.kind) == std::mem::discriminant(&kind)
        };
        match self.blocks.open().filter(same) {
            Some(open) => {
                if matches!(kind, QueuedBlockKind::Thinking) {
                    self.thought.push_str(text);
                }
                open.waiting.push_str(text);
            }
            // An empty text is not a block; empty reasoning may still get a
            // signature.
            None if text.is_empty() && matches!(kind, QueuedBlockKind::Text) => {
                self.blocks.end_open()
            }
            None => {
                self.thought.clear();
                if matches!(kind, QueuedBlockKind::Thinking) {
                    self.thought.push_str(text);
                }
                self.blocks.push(QueuedBlock::new(kind, text));
            }
        }
    }

    /// Seals the state of the open thinking block, if it is of another dialect.
    fn seal_thought(&mut self, native: Option<&Native>) -> Option<Box<Native>> {
        match self.blocks.open()?.kind {
            QueuedBlockKind::Thinking => seal_state(&self.thought, native, &mut self.losses),
            _ => None,
        }
    }

    fn refuse(&mut self, text: &Text) {
        self.blocks.end_open();
        self.losses.own(text.native.as_deref(), &MESSAGES);
        let refusal = self.refusal.get_or_insert_default();
        refusal.text.push_str(&text.text);
        refusal.native = text.native.clone().or(refusal.native.take());
    }

    fn part(&mut self, part: &Part) {
        if let Part::Refusal(text) = part {
            return self.refuse(text);
        }
        if !fits(part, BlockPosition::Response, &mut self.losses) {
            return;
        }
        let kind = match part {
            Part::Text(_) => QueuedBlockKind::Text,
            Part::Reasoning(_) => QueuedBlockKind::Thinking,
            Part::Opaque(block) => QueuedBlockKind::Whole(block.raw.clone()),
            Part::ToolCall(call) => {
                // Indexes counted down from the maximum cannot collide with
                // those of events.
                let index = usize::MAX - self.calls;
                self.start_call(index, &call.id, &call.name, call.native.as_deref());
                return self.complete_call(index, &call.arguments);
            }
            Part::Refusal(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::ToolResult(_)
            | Part::File(_) => return,
        };
        let text = match part {
            Part::Text(text) => &text.text,
            Part::Reasoning(reasoning) => &reasoning.text,
            Part::Refusal(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::ToolCall(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_) => "",
        };
        let mut block = QueuedBlock::new(kind, text);
        let sealed = match part {
            Part::Reasoning(_) => seal_state(text, part.native(), &mut self.losses),
            Part::Text(_)
            | Part::Refusal(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::ToolCall(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_) => None,
        };
        block.native = sealed.or_else(|| part.native().cloned().map(Box::new));
        block.ended = true;
        self.blocks.push(block);
    }

    fn start_call(&mut self, index: usize, id: &str, name: &str, native: Option<&Native>) {
        let id = match id {
            "" => ToolCall::synthetic_id(self.first_call + self.calls),
            id => call_id::encode(id).into_owned(),
        };
        self.calls += 1;
        let kind = QueuedBlockKind::Call {
            index,
            id: self.ids.call(&id),
            name: name.to_owned(),
        };
        let sealed = seal_call(native, &MESSAGES, &mut self.losses);
        let native = native.filter(|_| sealed.is_none());
        if let Some(sealed) = sealed {
            let mut state = BytesMut::new();
            object(&mut state, |o| write_sealed(&sealed, o));
            let state = keep(&String::from_utf8_lossy(&state));
            let whole = QueuedBlockKind::Whole(state);
            self.blocks.push(QueuedBlock::new(whole, ""));
        }
        let mut block = QueuedBlock::new(kind, "");
        let native = self.losses.own(native, &MESSAGES);
        block.native = native.cloned().map(Box::new);
        self.blocks.push(block);
    }

    fn complete_call(&mut self, index: usize, arguments: &str) {
        if let Some(call) = self.blocks.call(index) {
            call.waiting.push_str(arguments.trim());
            call.ended = true;
        }
    }

    fn end(&mut self, reason: &FinishReason, out: &mut BytesMut) {
        let refusal = self.refusal.take();
        let details = match refusal {
            Some(text) if *reason == FinishReason::Refusal => Some(finish::stop_details(&text)),
            Some(text) if !text.text.is_empty() => {
                self.losses
                    .record(LossVerb::Converted, "refusal", "written as text");
                self.blocks
                    .push(QueuedBlock::new(QueuedBlockKind::Text, &text.text));
                None
            }
            _ => None,
        };
        self.blocks.end_all();
        self.begin(out);
        self.blocks.flush(out, &mut self.losses);
        write_event("message_delta", out, |o| {
            o.object("delta", |o| {
                finish::write_finish_reason(reason, details.as_ref(), o, &mut self.losses);
            });
            o.object("usage", |o| usage::write_usage(&self.usage, o));
        });
        write_event("message_stop", out, |_| {});
    }
}

handles_all!(11 of Event);

impl StreamWriter for MessagesStreamWriter {
    fn write(&mut self, event: &Event, out: &mut BytesMut) {
        match event {
            Event::Start { .. } => self.start(),
            Event::Text(text) => self.text(QueuedBlockKind::Text, text),
            Event::Reasoning(text) => self.text(QueuedBlockKind::Thinking, text),
            Event::Refusal(text) => self.refuse(&Text::new(text)),
            Event::EndPart(native) => {
                let sealed = self.seal_thought(native.as_deref());
                if let Some(open) = self.blocks.open() {
                    open.native = sealed.or_else(|| native.clone());
                    open.ended = true;
                }
            }
            Event::Part(part) => self.part(part),
            Event::ToolCallStart {
                index,
                id,
                name,
                native,
            } => {
                let id = id.as_deref().unwrap_or_default();
                self.start_call(*index, id, name, native.as_deref());
            }
            Event::ToolCallArguments { index, fragment } => {
                if let Some(call) = self.blocks.call(*index).filter(|call| !call.ended) {
                    call.waiting.push_str(fragment);
                }
            }
            Event::ToolCallEnd { index } => {
                if let Some(call) = self.blocks.call(*index) {
                    call.ended = true;
                }
            }
            Event::Usage(usage) => self.usage = *usage,
            Event::Finish(reason) => self.end(reason, out),
            _ => {}
        }
        self.flush(out);
    }

    fn fail_with(&mut self, error: &ClientError, out: &mut BytesMut) {
        out.extend_from_slice(b"event: error\ndata: ");
        error::write_error_body(error, out);
        out.extend_from_slice(b"\n\n");
    }

    fn losses(&self) -> Vec<Loss> {
        self.losses.clone().into_vec()
    }
}
