//! Writes [`Event`]s as a stream of `GenerateContentResponse`s.

use bytes::BytesMut;
use majordomo_llm::{Event, FinishReason, Native, Part, ToolCall, Usage};

use super::response::write_response_part;
use super::write_part::{write_function_call, write_native};
use super::{GEMINI, error, finish, usage};
use crate::handles_all::handles_all;
use crate::json::{Array, Object, object};
use crate::loss::{LossVerb, Losses};
use crate::{ClientError, Loss, Reply, StreamWriter};

/// Encodes events as responses, each with the new parts.
pub(super) struct GeminiStreamWriter {
    /// The fields every chunk ends with: `modelVersion` and `responseId`.
    tail: BytesMut,
    usage: Option<Usage>,
    first_call: usize,
    calls: Vec<GeminiBufferedCall>,
    /// The number of calls written.
    calls_written: usize,
    /// Whether the last delta was a thought.
    in_thought: bool,
    losses: Losses,
}

/// A call, buffered until it is complete.
struct GeminiBufferedCall {
    index: usize,
    call: ToolCall,
    ended: bool,
}

impl GeminiStreamWriter {
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
            calls_written: 0,
            in_thought: false,
            losses: Losses::default(),
        }
    }

    fn write_chunk(&mut self, out: &mut BytesMut, fill: impl FnOnce(&mut Object<'_>, &mut Losses)) {
        let (usage, losses) = (self.usage, &mut self.losses);
        out.extend_from_slice(b"data: {\"candidates\":[{");
        fill(&mut Object::resume(out, true), losses);
        out.extend_from_slice(b",\"index\":0}],");
        if let Some(usage) = usage {
            let mut rest = Object::resume(out, true);
            rest.object("usageMetadata", |o| usage::write_usage(&usage, o, losses));
            out.extend_from_slice(b",");
        }
        out.extend_from_slice(&self.tail);
        out.extend_from_slice(b"\r\n\r\n");
    }

    /// Writes a chunk with one part; nothing if the part is lost.
    fn write_part(&mut self, out: &mut BytesMut, fill: impl FnOnce(&mut Array<'_>, &mut Losses)) {
        let before = out.len();
        let mut wrote = false;
        self.write_chunk(out, |o, losses| {
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

    fn write_text(&mut self, text: &str, out: &mut BytesMut) {
        self.in_thought = false;
        self.write_part(out, |a, _| a.object(|o| o.string("text", text)));
    }

    fn write_thought(&mut self, text: &str, out: &mut BytesMut) {
        self.in_thought = true;
        self.write_part(out, |a, _| {
            a.object(|o| {
                o.string("text", text);
                o.bool("thought", true);
            });
        });
    }

    /// Writes native fields that follow their text as a separate, empty part.
    fn end_part(&mut self, native: Option<&Native>, out: &mut BytesMut) {
        let native = self.losses.own(native, &GEMINI);
        let has_state = |native: &&Native| native.fields().any(|(name, _)| name != "field");
        let Some(native) = native.filter(has_state) else {
            return;
        };
        let in_thought = self.in_thought;
        self.write_part(out, |a, _| {
            a.object(|o| {
                o.string("text", "");
                if in_thought {
                    o.bool("thought", true);
                }
                write_native(o, Some(native));
            });
        });
    }

    fn start_call(&mut self, index: usize, id: Option<&str>, name: &str, native: Option<&Native>) {
        let generated_id = ToolCall::synthetic_id(self.first_call + self.calls.len());
        let id = id.filter(|id| !id.is_empty()).unwrap_or(&generated_id);
        self.calls.push(GeminiBufferedCall {
            index,
            call: ToolCall {
                native: native.cloned().map(Box::new),
                ..ToolCall::new(id, name, "")
            },
            ended: false,
        });
    }

    fn push_arguments(&mut self, index: usize, fragment: &str) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.index == index) {
            call.call.arguments.push_str(fragment);
        }
    }

    fn end_call(&mut self, index: usize, out: &mut BytesMut) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.index == index) {
            call.ended = true;
        }
        self.flush_calls(out);
    }

    /// Writes the complete calls in the order they started, up to the first open one.
    fn flush_calls(&mut self, out: &mut BytesMut) {
        while let Some(GeminiBufferedCall { ended: true, .. }) = self.calls.get(self.calls_written)
        {
            let call = self.calls[self.calls_written].call.clone();
            self.calls_written += 1;
            self.write_part(out, |a, losses| {
                a.object(|o| write_function_call(&call, Some(&call.id), None, o, losses));
            });
        }
    }

    fn write_complete_part(&mut self, part: &Part, out: &mut BytesMut) {
        self.in_thought = false;
        let Part::ToolCall(call) = part else {
            return self.write_part(out, |a, losses| write_response_part(part, a, losses));
        };
        // Counting down from the maximum cannot collide with event indexes.
        let index = usize::MAX - self.calls.len();
        self.start_call(index, Some(&call.id), &call.name, call.native.as_deref());
        self.push_arguments(index, &call.arguments);
        self.end_call(index, out);
    }

    fn finish(&mut self, reason: &FinishReason, out: &mut BytesMut) {
        for call in &mut self.calls {
            call.ended = true;
        }
        self.flush_calls(out);
        self.usage.get_or_insert_default();
        self.write_chunk(out, |o, losses| {
            // Clients treat a chunk without parts as malformed.
            o.raw("content", r#"{"parts":[{"text":""}],"role":"model"}"#);
            o.string("finishReason", finish::write_finish_reason(reason, losses));
        });
    }
}

handles_all!(11 of Event);

impl StreamWriter for GeminiStreamWriter {
    fn write(&mut self, event: &Event, out: &mut BytesMut) {
        match event {
            Event::Start { .. } => {}
            Event::Text(text) => self.write_text(text, out),
            Event::Refusal(text) => {
                self.losses
                    .record(LossVerb::Converted, "refusal", "written as text");
                self.write_text(text, out);
            }
            Event::Reasoning(text) => self.write_thought(text, out),
            Event::EndPart(native) => self.end_part(native.as_deref(), out),
            Event::Part(part) => self.write_complete_part(part, out),
            Event::ToolCallStart {
                index,
                id,
                name,
                native,
            } => self.start_call(*index, id.as_deref(), name, native.as_deref()),
            Event::ToolCallArguments { index, fragment } => self.push_arguments(*index, fragment),
            Event::ToolCallEnd { index } => self.end_call(*index, out),
            Event::Usage(usage) => self.usage = Some(*usage),
            Event::Finish(reason) => self.finish(reason, out),
            _ => {}
        }
    }

    /// Google's clients accept an error inside or outside an SSE event, but miscount
    /// braces in the latter.
    fn fail_with(&mut self, error: &ClientError, out: &mut BytesMut) {
        out.extend_from_slice(b"data: ");
        object(out, |o| error::write_into(error, o));
        out.extend_from_slice(b"\r\n\r\n");
    }

    fn losses(&self) -> Vec<Loss> {
        self.losses.clone().into_vec()
    }
}
