//! Writes [`Event`]s as a stream of server-sent events.

use bytes::BytesMut;
use majordomo_llm::{Event, FinishReason, Native, Part, ToolCall, Usage};

use super::{CHAT, REASONING_KEY, error, finish, usage};
use crate::handles_all::handles_all;
use crate::json::{Object, object};
use crate::loss::Losses;
use crate::overlong;
use crate::{ClientError, Loss, Reply, StreamWriter};

/// Encodes events as `chat.completion.chunk`s.
pub(super) struct ChatStreamWriter {
    /// The fields every chunk starts with: `id`, `object`, `created`, `model`.
    head: BytesMut,
    usage: Option<Usage>,
    wants_usage: bool,
    first_call: usize,
    calls: Vec<ChatWrittenCall>,
    started: bool,
    refused: bool,
    losses: Losses,
}

/// A call, by its index in the events; its position is its index on the wire.
struct ChatWrittenCall {
    index: usize,
    has_arguments: bool,
}

impl ChatStreamWriter {
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
            started: false,
            refused: false,
            losses: Losses::default(),
        }
    }

    fn write_chunk(&self, out: &mut BytesMut, fill: impl FnOnce(&mut Object<'_>)) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(&self.head);
        fill(&mut Object::resume(out, false));
        out.extend_from_slice(b"}\n\n");
    }

    /// Writes a chunk with a delta; only the first one has the role.
    fn write_delta(&mut self, out: &mut BytesMut, fill: impl FnOnce(&mut Object<'_>)) {
        let first = !std::mem::replace(&mut self.started, true);
        self.write_choice(out, None, |o| {
            if first {
                o.string("role", "assistant");
            }
            fill(o);
        });
    }

    fn write_choice(
        &self,
        out: &mut BytesMut,
        reason: Option<&str>,
        fill: impl FnOnce(&mut Object<'_>),
    ) {
        self.write_chunk(out, |o| {
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

    fn write_refusal(&mut self, text: &str, out: &mut BytesMut) {
        self.refused |= !text.is_empty();
        self.write_delta(out, |o| o.string("refusal", text));
    }

    fn end_part(&mut self, native: Option<&Native>, out: &mut BytesMut) {
        let own = self.losses.own(native, &CHAT);
        if let Some(details) = own.and_then(|native| native.get("reasoning_details")) {
            self.write_delta(out, |o| o.raw("reasoning_details", details.as_str()));
        }
    }

    fn write_part(&mut self, part: &Part, out: &mut BytesMut) {
        match part {
            Part::Text(text) => self.write_delta(out, |o| o.string("content", &text.text)),
            Part::Refusal(text) => self.write_refusal(&text.text, out),
            Part::Reasoning(text) if !text.text.is_empty() => {
                self.write_delta(out, |o| o.string(REASONING_KEY, &text.text));
            }
            Part::Reasoning(_) => {}
            Part::ToolCall(call) => {
                // Counting down from the maximum cannot collide with event indexes.
                let index = usize::MAX - self.calls.len();
                self.start_call(
                    index,
                    Some(&call.id),
                    &call.name,
                    call.native.as_deref(),
                    out,
                );
                self.write_arguments(index, &call.arguments, out);
                return;
            }
            other @ (Part::Image(_)
            | Part::RemoteImage(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_)) => self
                .losses
                .part(other, "Chat Completions responses hold text only"),
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
        let position = self.calls.len();
        self.calls.push(ChatWrittenCall {
            index,
            has_arguments: false,
        });
        let generated_id = ToolCall::synthetic_id(self.first_call + position);
        let id = id.filter(|id| !id.is_empty()).unwrap_or(&generated_id);
        let native = self.losses.own(native, &CHAT);
        self.write_delta(out, |o| {
            o.array("tool_calls", |a| {
                a.object(|o| {
                    o.number("index", position);
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

    fn write_arguments(&mut self, index: usize, fragment: &str, out: &mut BytesMut) {
        let Some(position) = self.calls.iter().position(|call| call.index == index) else {
            return;
        };
        self.calls[position].has_arguments |= !fragment.is_empty();
        self.write_delta(out, |o| {
            o.array("tool_calls", |a| {
                a.object(|o| {
                    o.number("index", position);
                    o.object("function", |o| o.string("arguments", fragment));
                });
            });
        });
    }

    /// Ends a call. Clients parse the arguments, so missing ones become `{}`.
    fn end_call(&mut self, index: usize, out: &mut BytesMut) {
        let call = self.calls.iter().find(|call| call.index == index);
        if call.is_some_and(|call| !call.has_arguments) {
            self.write_arguments(index, "{}", out);
        }
    }

    fn finish(&mut self, reason: &FinishReason, out: &mut BytesMut) {
        if !self.started {
            self.write_delta(out, |o| o.string("content", ""));
        }
        let written = finish::write_finish_reason(reason);
        let read_back = finish::read_finish_reason(written, !self.calls.is_empty(), self.refused);
        self.losses.finish(reason, &read_back);
        self.write_choice(out, Some(written), |_| {});
        if self.wants_usage {
            let usage = self.usage.unwrap_or_default();
            self.write_chunk(out, |o| {
                o.raw("choices", "[]");
                o.object("usage", |o| usage::write_usage(&usage, o));
            });
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }
}

handles_all!(11 of Event);

impl StreamWriter for ChatStreamWriter {
    fn write(&mut self, event: &Event, out: &mut BytesMut) {
        match event {
            Event::Start { .. } => {}
            Event::Text(text) | Event::Refusal(text) | Event::Reasoning(text)
                if text.is_empty() => {}
            Event::Text(text) => self.write_delta(out, |o| o.string("content", text)),
            Event::Refusal(text) => self.write_refusal(text, out),
            Event::Reasoning(text) => self.write_delta(out, |o| o.string(REASONING_KEY, text)),
            Event::EndPart(native) => self.end_part(native.as_deref(), out),
            Event::Part(part) => self.write_part(part, out),
            Event::ToolCallStart {
                index,
                id,
                name,
                native,
            } => self.start_call(*index, id.as_deref(), name, native.as_deref(), out),
            Event::ToolCallArguments { index, fragment } => {
                self.write_arguments(*index, fragment, out)
            }
            Event::ToolCallEnd { index } => self.end_call(*index, out),
            Event::Usage(usage) => self.usage = Some(*usage),
            Event::Finish(reason) => self.finish(reason, out),
            _ => {}
        }
    }

    fn fail_with(&mut self, error: &ClientError, out: &mut BytesMut) {
        out.extend_from_slice(b"data: ");
        object(out, |o| error::write_into(error, &overlong::CHAT, o));
        out.extend_from_slice(b"\n\n");
    }

    fn losses(&self) -> Vec<Loss> {
        self.losses.clone().into_vec()
    }
}
