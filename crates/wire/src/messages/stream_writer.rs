//! Streamed answers, written.

use bytes::BytesMut;
use majordomo_llm::{Error, Event, FinishReason, Native, Part, Text, ToolCall, Usage};

use super::stream_items::{Item, ItemKind, Items, event};
use super::write_part::{Place, fits};
use super::{MESSAGES, call_id, error, finish, usage};
use crate::conversation::CallIds;
use crate::loss::Losses;
use crate::{Loss, Reply, StreamWriter};

/// Turns our events into the wire's.
pub(super) struct MessagesWriter {
    id: String,
    model: String,
    first_call: usize,
    calls: usize,
    ids: CallIds,
    begun: bool,
    usage: Usage,
    items: Items,
    /// What is said about a refusal is told at the end.
    refusal: Option<Text>,
    losses: Losses,
}

impl MessagesWriter {
    pub(super) fn new(reply: &Reply) -> Self {
        Self {
            id: reply.id.clone(),
            model: reply.model.clone(),
            first_call: reply.first_call,
            calls: 0,
            ids: CallIds::new(|_| true),
            begun: false,
            usage: Usage::default(),
            items: Items::default(),
            refusal: None,
            losses: Losses::default(),
        }
    }

    /// The start waits for the first content, so that it can tell the usage.
    fn begin(&mut self, out: &mut BytesMut) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        event("message_start", out, |o| {
            o.object("message", |o| {
                o.string("id", &self.id);
                o.string("type", "message");
                o.string("role", "assistant");
                o.string("model", &self.model);
                o.raw("content", "[]");
                o.raw("stop_reason", "null");
                o.raw("stop_sequence", "null");
                o.object("usage", |o| usage::write(&self.usage, o));
            });
        });
    }

    fn flush(&mut self, out: &mut BytesMut) {
        if self.items.wait() {
            self.begin(out);
            self.items.flush(out, &mut self.losses);
        }
    }

    fn text(&mut self, kind: ItemKind, text: &str) {
        let same =
            |item: &&mut Item| std::mem::discriminant(&item.kind) == std::mem::discriminant(&kind);
        match self.items.open().filter(same) {
            Some(open) => open.waiting.push_str(text),
            // An empty text is no block; an empty thought may get a signature.
            None if text.is_empty() && matches!(kind, ItemKind::Text) => self.items.end_open(),
            None => self.items.push(Item::new(kind, text)),
        }
    }

    fn refuse(&mut self, text: &Text) {
        self.items.end_open();
        self.losses.own(text.native.as_deref(), &MESSAGES);
        let refusal = self.refusal.get_or_insert_default();
        refusal.text.push_str(&text.text);
        refusal.native = text.native.clone().or(refusal.native.take());
    }

    fn part(&mut self, part: &Part) {
        if let Part::Refusal(text) = part {
            return self.refuse(text);
        }
        if !fits(part, Place::Answer, &mut self.losses) {
            return;
        }
        let kind = match part {
            Part::Text(_) => ItemKind::Text,
            Part::Reasoning(_) => ItemKind::Thinking,
            Part::Opaque(block) => ItemKind::Whole(block.raw.clone()),
            Part::ToolCall(call) => {
                // Indexes from the far end cannot meet those of the events.
                let index = usize::MAX - self.calls;
                self.start_call(index, &call.id, &call.name, call.native.as_deref());
                return self.whole_call(index, &call.arguments);
            }
            _ => return,
        };
        let text = match part {
            Part::Text(text) => &text.text,
            Part::Reasoning(thought) => &thought.text,
            _ => "",
        };
        let mut item = Item::new(kind, text);
        item.native = part.native().cloned().map(Box::new);
        item.ended = true;
        self.items.push(item);
    }

    fn start_call(&mut self, index: usize, id: &str, name: &str, native: Option<&Native>) {
        let id = match id {
            "" => ToolCall::synthetic_id(self.first_call + self.calls),
            id => call_id::write(id).into_owned(),
        };
        self.calls += 1;
        let kind = ItemKind::Call {
            index,
            id: self.ids.call(&id),
            name: name.to_owned(),
        };
        let mut item = Item::new(kind, "");
        let native = self.losses.own(native, &MESSAGES);
        item.native = native.cloned().map(Box::new);
        self.items.push(item);
    }

    fn whole_call(&mut self, index: usize, arguments: &str) {
        if let Some(call) = self.items.call(index) {
            call.waiting.push_str(arguments.trim());
            call.ended = true;
        }
    }

    fn end(&mut self, reason: &FinishReason, out: &mut BytesMut) {
        let refusal = self.refusal.take();
        let details = match refusal {
            Some(text) if *reason == FinishReason::Refusal => Some(finish::details(&text)),
            Some(text) if !text.text.is_empty() => {
                self.losses.add("refusal", "written as text");
                self.items.push(Item::new(ItemKind::Text, &text.text));
                None
            }
            _ => None,
        };
        self.items.end_all();
        self.begin(out);
        self.items.flush(out, &mut self.losses);
        event("message_delta", out, |o| {
            o.object("delta", |o| {
                finish::write(reason, details.as_ref(), o, &mut self.losses);
            });
            o.object("usage", |o| usage::write(&self.usage, o));
        });
        event("message_stop", out, |_| {});
    }
}

impl StreamWriter for MessagesWriter {
    fn write(&mut self, event: &Event, out: &mut BytesMut) {
        match event {
            Event::Start { .. } => {}
            Event::Text(text) => self.text(ItemKind::Text, text),
            Event::Reasoning(text) => self.text(ItemKind::Thinking, text),
            Event::Refusal(text) => self.refuse(&Text::new(text)),
            Event::EndPart(native) => {
                if let Some(open) = self.items.open() {
                    open.native = native.clone();
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
                if let Some(call) = self.items.call(*index).filter(|call| !call.ended) {
                    call.waiting.push_str(fragment);
                }
            }
            Event::ToolCallEnd { index } => {
                if let Some(call) = self.items.call(*index) {
                    call.ended = true;
                }
            }
            Event::Usage(usage) => self.usage = *usage,
            Event::Finish(reason) => self.end(reason, out),
        }
        self.flush(out);
    }

    fn fail(&mut self, error: &Error, out: &mut BytesMut) {
        out.extend_from_slice(b"event: error\ndata: ");
        error::write_into(error, out);
        out.extend_from_slice(b"\n\n");
    }

    fn losses(&self) -> Vec<Loss> {
        self.losses.clone().into_vec()
    }
}
