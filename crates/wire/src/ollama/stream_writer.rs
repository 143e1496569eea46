//! Writes [`Event`]s as an NDJSON stream.

use std::time::Duration;

use bytes::BytesMut;
use majordomo_llm::{Event, FinishReason, Native, Part, ToolCall, Usage};

use super::generate::OllamaEndpoint;
use super::usage::OllamaDurations;
use super::{OLLAMA, THINKING_KEY, error, finish, image, tool_calls, usage};
use crate::handles_all::handles_all;
use crate::json::{Object, object};
use crate::loss::{LossVerb, Losses};
use crate::{ClientError, Loss, Reply, Stopwatch, StreamWriter, rfc3339};

/// Encodes events as NDJSON lines.
pub(super) struct OllamaStreamWriter {
    /// The fields every line starts with: `model` and `created_at`.
    head: BytesMut,
    endpoint: OllamaEndpoint,
    usage: Usage,
    first_call: usize,
    calls: Vec<OllamaBufferedCall>,
    /// The number of calls written.
    calls_written: usize,
    stopwatch: Stopwatch,
    /// When the first content arrived.
    first: Option<Duration>,
    losses: Losses,
}

/// A call, buffered until it is complete.
struct OllamaBufferedCall {
    index: usize,
    call: ToolCall,
    ended: bool,
}

impl OllamaStreamWriter {
    pub(super) fn new(reply: &Reply, endpoint: OllamaEndpoint) -> Self {
        let mut head = BytesMut::new();
        object(&mut head, |o| {
            o.string("model", &reply.model);
            o.string("created_at", &rfc3339::from_unix(reply.created));
        });
        head.truncate(head.len() - 1);
        Self {
            head,
            endpoint,
            usage: Usage::default(),
            first_call: reply.first_call,
            calls: Vec::new(),
            calls_written: 0,
            stopwatch: reply.stopwatch.clone(),
            first: None,
            losses: Losses::default(),
        }
    }

    fn write_line(&self, out: &mut BytesMut, fill: impl FnOnce(&mut Object<'_>)) {
        out.extend_from_slice(&self.head);
        fill(&mut Object::resume(out, false));
        out.extend_from_slice(b"}\n");
    }

    /// Writes a line with `done: false`.
    fn write_delta(&self, out: &mut BytesMut, text: &str, fill: impl FnOnce(&mut Object<'_>)) {
        self.write_line(out, |o| {
            self.write_message(o, text, fill);
            o.bool("done", false);
        });
    }

    fn write_message(
        &self,
        object: &mut Object<'_>,
        text: &str,
        fill: impl FnOnce(&mut Object<'_>),
    ) {
        match self.endpoint {
            OllamaEndpoint::Chat => object.object("message", |o| {
                o.string("role", "assistant");
                o.string("content", text);
                fill(o);
            }),
            OllamaEndpoint::Generate => {
                object.string("response", text);
                fill(object);
            }
        }
    }

    fn write_thinking(&self, text: &str, out: &mut BytesMut) {
        self.write_delta(out, "", |o| o.string(THINKING_KEY, text));
    }

    fn write_refusal(&mut self, text: &str, out: &mut BytesMut) {
        self.losses
            .record(LossVerb::Converted, "refusal", "written as text");
        self.write_delta(out, text, |_| {});
    }

    fn write_part(&mut self, part: &Part, out: &mut BytesMut) {
        match part {
            Part::Text(text) => self.write_delta(out, &text.text, |_| {}),
            Part::Refusal(text) => self.write_refusal(&text.text, out),
            Part::Reasoning(text) if !text.text.is_empty() => self.write_thinking(&text.text, out),
            Part::Reasoning(_) => {}
            Part::ToolCall(call) => {
                let mut call = call.clone();
                self.assign_id(&mut call);
                return self.write_call(&call, out);
            }
            part if image::belongs(part) => self.write_delta(out, "", |o| {
                o.array("images", |array| image::write(part, array));
            }),
            other @ (Part::Image(_)
            | Part::RemoteImage(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_)) => self
                .losses
                .part(other, "Ollama responses hold text and images only"),
        }
        self.losses.own(part.native(), &OLLAMA);
    }

    fn start_call(&mut self, index: usize, id: Option<&str>, name: &str, native: Option<&Native>) {
        let mut call = ToolCall {
            native: native.cloned().map(Box::new),
            ..ToolCall::new(id.unwrap_or_default(), name, "")
        };
        self.assign_id(&mut call);
        self.calls.push(OllamaBufferedCall {
            index,
            call,
            ended: false,
        });
    }

    fn assign_id(&self, call: &mut ToolCall) {
        if call.id.is_empty() {
            call.id = ToolCall::synthetic_id(self.first_call + self.calls.len());
        }
    }

    fn end_call(&mut self, index: usize, out: &mut BytesMut) {
        let open = |call: &&mut OllamaBufferedCall| call.index == index && !call.ended;
        let Some(call) = self.calls.iter_mut().find(open) else {
            return;
        };
        call.ended = true;
        let call = std::mem::replace(&mut call.call, ToolCall::new("", "", ""));
        self.write_call(&call, out);
    }

    fn write_call(&mut self, call: &ToolCall, out: &mut BytesMut) {
        let position = self.calls_written;
        self.calls_written += 1;
        // NDJSON: arguments must not span lines. Outside strings, a line break is
        // just whitespace.
        let call = ToolCall {
            arguments: call.arguments.replace(['\n', '\r'], " "),
            ..call.clone()
        };
        let mut losses = std::mem::take(&mut self.losses);
        self.write_delta(out, "", |o| {
            o.array("tool_calls", |array| {
                tool_calls::write_tool_call(&call, &call.id, Some(position), array, &mut losses);
            });
        });
        self.losses = losses;
    }

    fn finish(&mut self, reason: &FinishReason, out: &mut BytesMut) {
        let open: Vec<usize> = self.calls.iter().map(|call| call.index).collect();
        for index in open {
            self.end_call(index, out);
        }
        let total = self.stopwatch.elapsed().unwrap_or_default();
        let first = self.first.unwrap_or(total);
        let measured = OllamaDurations { first, total };
        let written = finish::write_finish_reason(reason);
        let mut losses = std::mem::take(&mut self.losses);
        losses.finish(
            reason,
            &finish::read_finish_reason(written, self.calls_written > 0),
        );
        self.write_line(out, |o| {
            self.write_message(o, "", |_| {});
            o.bool("done", true);
            o.string("done_reason", written);
            usage::write_usage(&self.usage, None, measured, o, &mut losses);
        });
        self.losses = losses;
    }
}

handles_all!(11 of Event);

impl StreamWriter for OllamaStreamWriter {
    fn write(&mut self, event: &Event, out: &mut BytesMut) {
        if self.first.is_none() && event.is_semantic() {
            self.first = self.stopwatch.elapsed();
        }
        match event {
            Event::Start { .. } => {}
            Event::Text(text) => self.write_delta(out, text, |_| {}),
            Event::Refusal(text) => self.write_refusal(text, out),
            Event::Reasoning(text) => self.write_thinking(text, out),
            Event::EndPart(native) => {
                self.losses.own(native.as_deref(), &OLLAMA);
            }
            Event::Part(part) => self.write_part(part, out),
            Event::ToolCallStart {
                index,
                id,
                name,
                native,
            } => self.start_call(*index, id.as_deref(), name, native.as_deref()),
            Event::ToolCallArguments { index, fragment } => {
                let open = self.calls.iter_mut().find(|call| call.index == *index);
                if let Some(call) = open.filter(|call| !call.ended) {
                    call.call.arguments.push_str(fragment);
                }
            }
            Event::ToolCallEnd { index } => self.end_call(*index, out),
            Event::Usage(usage) => self.usage = *usage,
            Event::Finish(reason) => self.finish(reason, out),
            _ => {}
        }
    }

    fn fail_with(&mut self, error: &ClientError, out: &mut BytesMut) {
        object(out, |o| error::write_into(error, o));
        out.extend_from_slice(b"\n");
    }

    fn losses(&self) -> Vec<Loss> {
        self.losses.clone().into_vec()
    }
}
