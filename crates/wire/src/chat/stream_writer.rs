//! Streamed answers, written.

use bytes::BytesMut;
use majordomo_llm::{Error, Event, FinishReason, Native, Part, ToolCall, Usage};

use super::{CHAT, REASONING, error, finish, usage};
use crate::json::{Object, object};
use crate::loss::Losses;
use crate::{Loss, Reply, StreamWriter};

/// Turns events into chunks.
pub(super) struct ChatWriter {
    /// What every chunk begins with: id, time and model, the same in all.
    head: BytesMut,
    usage: Option<Usage>,
    wants_usage: bool,
    first_call: usize,
    calls: Vec<Call>,
    begun: bool,
    refused: bool,
    losses: Losses,
}

/// A call by its index among the events; its place here is its index on the wire.
struct Call {
    index: usize,
    has_arguments: bool,
}

impl ChatWriter {
    pub(super) fn new(reply: &Reply) -> Self {
        let mut head = BytesMut::new();
        object(&mut head, |o| {
            o.string("id", &reply.id);
            o.string("object", "chat.completion.chunk");
            o.number("created", reply.created);
            o.string("model", &reply.model);
        });
        head.truncate(head.len() - 1);
        Self {
            head,
            usage: None,
            wants_usage: reply.stream_usage,
            first_call: reply.first_call,
            calls: Vec::new(),
            begun: false,
            refused: false,
            losses: Losses::default(),
        }
    }

    fn chunk(&self, out: &mut BytesMut, fill: impl FnOnce(&mut Object<'_>)) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(&self.head);
        fill(&mut Object::resume(out, false));
        out.extend_from_slice(b"}\n\n");
    }

    /// A chunk with a delta; the role is told in the first one only.
    fn delta(&mut self, out: &mut BytesMut, fill: impl FnOnce(&mut Object<'_>)) {
        let first = !std::mem::replace(&mut self.begun, true);
        self.choice(out, None, |o| {
            if first {
                o.string("role", "assistant");
            }
            fill(o);
        });
    }

    fn choice(&self, out: &mut BytesMut, reason: Option<&str>, fill: impl FnOnce(&mut Object<'_>)) {
        self.chunk(out, |o| {
            o.array("choices", |a| {
                a.object(|o| {
                    o.raw("index", "0");
                    o.object("delta", fill);
                    match reason {
                        Some(reason) => o.string("finish_reason", reason),
                        None => o.raw("finish_reason", "null"),
                    }
                });
            });
        });
    }

    fn refuse(&mut self, text: &str, out: &mut BytesMut) {
        self.refused |= !text.is_empty();
        self.delta(out, |o| o.string("refusal", text));
    }

    fn end_part(&mut self, native: Option<&Native>, out: &mut BytesMut) {
        let own = self.losses.own(native, &CHAT);
        if let Some(details) = own.and_then(|native| native.get("reasoning_details")) {
            self.delta(out, |o| o.raw("reasoning_details", details.as_str()));
        }
    }

    fn part(&mut self, part: &Part, out: &mut BytesMut) {
        match part {
            Part::Text(text) => self.delta(out, |o| o.string("content", &text.text)),
            Part::Refusal(text) => self.refuse(&text.text, out),
            Part::Reasoning(text) if !text.text.is_empty() => {
                self.delta(out, |o| o.string(REASONING, &text.text));
            }
            Part::Reasoning(_) => {}
            Part::ToolCall(call) => {
                // Indexes from the far end cannot meet those of the events.
                let index = usize::MAX - self.calls.len();
                self.start_call(
                    index,
                    Some(&call.id),
                    &call.name,
                    call.native.as_deref(),
                    out,
                );
                self.arguments(index, &call.arguments, out);
                return;
            }
            other => self
                .losses
                .part(other, "Chat Completions answers with text"),
        }
        self.end_part(part.native(), out);
    }

    fn start_call(
        &mut self,
        index: usize,
        id: Option<&str>,
        name: &str,
        native: Option<&Native>,
        out: &mut BytesMut,
    ) {
        let place = self.calls.len();
        self.calls.push(Call {
            index,
            has_arguments: false,
        });
        let made_up = ToolCall::synthetic_id(self.first_call + place);
        let id = id.filter(|id| !id.is_empty()).unwrap_or(&made_up);
        let native = self.losses.own(native, &CHAT);
        self.delta(out, |o| {
            o.array("tool_calls", |a| {
                a.object(|o| {
                    o.number("index", place);
                    o.string("id", id);
                    o.string("type", "function");
                    o.object("function", |o| {
                        o.string("name", name);
                        o.string("arguments", "");
                    });
                    o.native(native);
                });
            });
        });
    }

    fn arguments(&mut self, index: usize, fragment: &str, out: &mut BytesMut) {
        let Some(place) = self.calls.iter().position(|call| call.index == index) else {
            return;
        };
        self.calls[place].has_arguments |= !fragment.is_empty();
        self.delta(out, |o| {
            o.array("tool_calls", |a| {
                a.object(|o| {
                    o.number("index", place);
                    o.object("function", |o| o.string("arguments", fragment));
                });
            });
        });
    }

    /// Clients parse the arguments, so no arguments are an empty object.
    fn end_call(&mut self, index: usize, out: &mut BytesMut) {
        let call = self.calls.iter().find(|call| call.index == index);
        if call.is_some_and(|call| !call.has_arguments) {
            self.arguments(index, "{}", out);
        }
    }

    fn end(&mut self, reason: &FinishReason, out: &mut BytesMut) {
        if !self.begun {
            self.delta(out, |o| o.string("content", ""));
        }
        let word = finish::write(reason);
        let understood = finish::read(word, !self.calls.is_empty(), self.refused);
        self.losses.finish(reason, &understood);
        self.choice(out, Some(word), |_| {});
        if self.wants_usage {
            let usage = self.usage.unwrap_or_default();
            self.chunk(out, |o| {
                o.raw("choices", "[]");
                o.object("usage", |o| usage::write(&usage, o));
            });
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }
}

impl StreamWriter for ChatWriter {
    fn write(&mut self, event: &Event, out: &mut BytesMut) {
        match event {
            Event::Start { .. } => {}
            Event::Text(text) | Event::Refusal(text) | Event::Reasoning(text)
                if text.is_empty() => {}
            Event::Text(text) => self.delta(out, |o| o.string("content", text)),
            Event::Refusal(text) => self.refuse(text, out),
            Event::Reasoning(text) => self.delta(out, |o| o.string(REASONING, text)),
            Event::EndPart(native) => self.end_part(native.as_deref(), out),
            Event::Part(part) => self.part(part, out),
            Event::ToolCallStart {
                index,
                id,
                name,
                native,
            } => self.start_call(*index, id.as_deref(), name, native.as_deref(), out),
            Event::ToolCallArguments { index, fragment } => self.arguments(*index, fragment, out),
            Event::ToolCallEnd { index } => self.end_call(*index, out),
            Event::Usage(usage) => self.usage = Some(*usage),
            Event::Finish(reason) => self.end(reason, out),
        }
    }

    fn fail(&mut self, error: &Error, out: &mut BytesMut) {
        out.extend_from_slice(b"data: ");
        object(out, |o| error::write_into(error, o));
        out.extend_from_slice(b"\n\n");
    }

    fn losses(&self) -> Vec<Loss> {
        self.losses.clone().into_vec()
    }
}
