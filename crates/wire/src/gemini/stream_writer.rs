//! Streamed answers, written.

use bytes::BytesMut;
use majordomo_llm::{Error, Event, FinishReason, Native, Part, ToolCall, Usage};

use super::response::write_said;
use super::write_part::{write_call, write_native};
use super::{GEMINI, error, finish, usage};
use crate::json::{Array, Object, object};
use crate::loss::Losses;
use crate::{Loss, Reply, StreamWriter};

/// Turns events into responses, each with what is new.
pub(super) struct GeminiWriter {
    /// What every chunk ends with: model and id, the same in all.
    tail: BytesMut,
    usage: Option<Usage>,
    first_call: usize,
    calls: Vec<Call>,
    /// How many of the calls were written.
    written: usize,
    /// Whether the last delta was a thought.
    thinking: bool,
    losses: Losses,
}

/// A call, which is written when it is whole.
struct Call {
    index: usize,
    call: ToolCall,
    ended: bool,
}

impl GeminiWriter {
    pub(super) fn new(reply: &Reply) -> Self {
        let mut tail = BytesMut::new();
        object(&mut tail, |o| {
            o.string("modelVersion", &reply.model);
            o.string("responseId", &reply.id);
        });
        Self {
            tail: tail.split_off(1),
            usage: None,
            first_call: reply.first_call,
            calls: Vec::new(),
            written: 0,
            thinking: false,
            losses: Losses::default(),
        }
    }

    fn chunk(&mut self, out: &mut BytesMut, fill: impl FnOnce(&mut Object<'_>, &mut Losses)) {
        let (usage, losses) = (self.usage, &mut self.losses);
        out.extend_from_slice(b"data: {\"candidates\":[{");
        fill(&mut Object::resume(out, true), losses);
        out.extend_from_slice(b",\"index\":0}],");
        if let Some(usage) = usage {
            let mut rest = Object::resume(out, true);
            rest.object("usageMetadata", |o| usage::write(&usage, o, losses));
            out.extend_from_slice(b",");
        }
        out.extend_from_slice(&self.tail);
        out.extend_from_slice(b"\r\n\r\n");
    }

    /// A chunk with one part; nothing when the part cannot be written.
    fn part(&mut self, out: &mut BytesMut, fill: impl FnOnce(&mut Array<'_>, &mut Losses)) {
        let before = out.len();
        let mut wrote = false;
        self.chunk(out, |o, losses| {
            o.object("content", |o| {
                let out = o.value("parts");
                let start = out.len();
                crate::json::write_array(out, |array| fill(array, losses));
                wrote = &out[start..] != b"[]";
                o.string("role", "model");
            });
        });
        if !wrote {
            out.truncate(before);
        }
    }

    fn text(&mut self, text: &str, out: &mut BytesMut) {
        self.thinking = false;
        self.part(out, |a, _| a.object(|o| o.string("text", text)));
    }

    fn thought(&mut self, text: &str, out: &mut BytesMut) {
        self.thinking = true;
        self.part(out, |a, _| {
            a.object(|o| {
                o.string("text", text);
                o.bool("thought", true);
            });
        });
    }

    /// State that comes behind its text gets a part of its own.
    fn end_part(&mut self, native: Option<&Native>, out: &mut BytesMut) {
        let native = self.losses.own(native, &GEMINI);
        let state = |native: &&Native| native.fields().any(|(name, _)| name != "field");
        let Some(native) = native.filter(state) else {
            return;
        };
        let thinking = self.thinking;
        self.part(out, |a, _| {
            a.object(|o| {
                o.string("text", "");
                if thinking {
                    o.bool("thought", true);
                }
                write_native(o, Some(native));
            });
        });
    }

    fn start_call(&mut self, index: usize, id: Option<&str>, name: &str, native: Option<&Native>) {
        let made_up = ToolCall::synthetic_id(self.first_call + self.calls.len());
        let id = id.filter(|id| !id.is_empty()).unwrap_or(&made_up);
        self.calls.push(Call {
            index,
            call: ToolCall {
                native: native.cloned().map(Box::new),
                ..ToolCall::new(id, name, "")
            },
            ended: false,
        });
    }

    fn arguments(&mut self, index: usize, fragment: &str) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.index == index) {
            call.call.arguments.push_str(fragment);
        }
    }

    fn end_call(&mut self, index: usize, out: &mut BytesMut) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.index == index) {
            call.ended = true;
        }
        self.write_calls(out);
    }

    /// Writes calls in the order in which they began, as far as they are whole.
    fn write_calls(&mut self, out: &mut BytesMut) {
        while let Some(Call { ended: true, .. }) = self.calls.get(self.written) {
            let call = self.calls[self.written].call.clone();
            self.written += 1;
            self.part(out, |a, losses| {
                a.object(|o| write_call(&call, Some(&call.id), None, o, losses));
            });
        }
    }

    fn whole(&mut self, part: &Part, out: &mut BytesMut) {
        self.thinking = false;
        let Part::ToolCall(call) = part else {
            return self.part(out, |a, losses| write_said(part, a, losses));
        };
        // Indexes from the far end cannot meet those of the events.
        let index = usize::MAX - self.calls.len();
        self.start_call(index, Some(&call.id), &call.name, call.native.as_deref());
        self.arguments(index, &call.arguments);
        self.end_call(index, out);
    }

    fn end(&mut self, reason: &FinishReason, out: &mut BytesMut) {
        for call in &mut self.calls {
            call.ended = true;
        }
        self.write_calls(out);
        self.usage.get_or_insert_default();
        self.chunk(out, |o, losses| {
            // Clients take a chunk without parts for a broken one.
            o.raw("content", r#"{"parts":[{"text":""}],"role":"model"}"#);
            o.string("finishReason", finish::write(reason, losses));
        });
    }
}

impl StreamWriter for GeminiWriter {
    fn write(&mut self, event: &Event, out: &mut BytesMut) {
        match event {
            Event::Start { .. } => {}
            Event::Text(text) => self.text(text, out),
            Event::Refusal(text) => {
                self.losses.add("refusal", "written as text");
                self.text(text, out);
            }
            Event::Reasoning(text) => self.thought(text, out),
            Event::EndPart(native) => self.end_part(native.as_deref(), out),
            Event::Part(part) => self.whole(part, out),
            Event::ToolCallStart {
                index,
                id,
                name,
                native,
            } => self.start_call(*index, id.as_deref(), name, native.as_deref()),
            Event::ToolCallArguments { index, fragment } => self.arguments(*index, fragment),
            Event::ToolCallEnd { index } => self.end_call(*index, out),
            Event::Usage(usage) => self.usage = Some(*usage),
            Event::Finish(reason) => self.end(reason, out),
        }
    }

    /// Google's own clients find an error in an event as well as a bare one,
    /// and count braces badly in the latter.
    fn fail(&mut self, error: &Error, out: &mut BytesMut) {
        out.extend_from_slice(b"data: ");
        object(out, |o| error::write_into(error, o));
        out.extend_from_slice(b"\r\n\r\n");
    }

    fn losses(&self) -> Vec<Loss> {
        self.losses.clone().into_vec()
    }
}
