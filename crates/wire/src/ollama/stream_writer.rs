//! Streamed answers, written.

use bytes::BytesMut;
use majordomo_llm::{Error, Event, FinishReason, Native, Part, ToolCall, Usage};

use super::generate::Form;
use super::{OLLAMA, THINKING, error, finish, image, tool_calls, usage};
use crate::json::{Object, object};
use crate::loss::Losses;
use crate::{Loss, Reply, StreamWriter, rfc3339};

/// Turns events into lines.
pub(super) struct OllamaWriter {
    /// What every line begins with: model and time, the same in all.
    head: BytesMut,
    form: Form,
    usage: Usage,
    first_call: usize,
    /// Calls that have begun; each is written whole when it ends.
    calls: Vec<Call>,
    /// How many calls were written.
    written: usize,
    losses: Losses,
}

struct Call {
    index: usize,
    call: ToolCall,
    ended: bool,
}

impl OllamaWriter {
    pub(super) fn new(reply: &Reply, form: Form) -> Self {
        let mut head = BytesMut::new();
        object(&mut head, |o| {
            o.string("model", &reply.model);
            o.string("created_at", &rfc3339::from_unix(reply.created));
        });
        head.truncate(head.len() - 1);
        Self {
            head,
            form,
            usage: Usage::default(),
            first_call: reply.first_call,
            calls: Vec::new(),
            written: 0,
            losses: Losses::default(),
        }
    }

    fn line(&self, out: &mut BytesMut, fill: impl FnOnce(&mut Object<'_>)) {
        out.extend_from_slice(&self.head);
        fill(&mut Object::resume(out, false));
        out.extend_from_slice(b"}\n");
    }

    /// A line of an unfinished answer.
    fn delta(&self, out: &mut BytesMut, text: &str, fill: impl FnOnce(&mut Object<'_>)) {
        self.line(out, |o| {
            self.message(o, text, fill);
            o.bool("done", false);
        });
    }

    fn message(&self, object: &mut Object<'_>, text: &str, fill: impl FnOnce(&mut Object<'_>)) {
        match self.form {
            Form::Chat => object.object("message", |o| {
                o.string("role", "assistant");
                o.string("content", text);
                fill(o);
            }),
            Form::Generate => {
                object.string("response", text);
                fill(object);
            }
        }
    }

    fn think(&self, text: &str, out: &mut BytesMut) {
        self.delta(out, "", |o| o.string(THINKING, text));
    }

    fn refuse(&mut self, text: &str, out: &mut BytesMut) {
        self.losses.add("refusal", "written as text");
        self.delta(out, text, |_| {});
    }

    fn part(&mut self, part: &Part, out: &mut BytesMut) {
        match part {
            Part::Text(text) => self.delta(out, &text.text, |_| {}),
            Part::Refusal(text) => self.refuse(&text.text, out),
            Part::Reasoning(text) if !text.text.is_empty() => self.think(&text.text, out),
            Part::Reasoning(_) => {}
            Part::ToolCall(call) => {
                let mut call = call.clone();
                self.name(&mut call);
                return self.call(&call, out);
            }
            part if image::belongs(part) => self.delta(out, "", |o| {
                o.array("images", |array| image::write(part, array));
            }),
            other => self
                .losses
                .part(other, "Ollama answers with text and pictures"),
        }
        self.losses.own(part.native(), &OLLAMA);
    }

    fn start_call(&mut self, index: usize, id: Option<&str>, name: &str, native: Option<&Native>) {
        let mut call = ToolCall {
            native: native.cloned().map(Box::new),
            ..ToolCall::new(id.unwrap_or_default(), name, "")
        };
        self.name(&mut call);
        self.calls.push(Call {
            index,
            call,
            ended: false,
        });
    }

    fn name(&self, call: &mut ToolCall) {
        if call.id.is_empty() {
            call.id = ToolCall::synthetic_id(self.first_call + self.calls.len());
        }
    }

    fn end_call(&mut self, index: usize, out: &mut BytesMut) {
        let open = |call: &&mut Call| call.index == index && !call.ended;
        let Some(call) = self.calls.iter_mut().find(open) else {
            return;
        };
        call.ended = true;
        let call = std::mem::replace(&mut call.call, ToolCall::new("", "", ""));
        self.call(&call, out);
    }

    fn call(&mut self, call: &ToolCall, out: &mut BytesMut) {
        let place = self.written;
        self.written += 1;
        // A line must stay one: outside of strings, a line end is only space.
        let call = ToolCall {
            arguments: call.arguments.replace(['\n', '\r'], " "),
            ..call.clone()
        };
        let mut losses = std::mem::take(&mut self.losses);
        self.delta(out, "", |o| {
            o.array("tool_calls", |array| {
                tool_calls::write(&call, &call.id, Some(place), array, &mut losses);
            });
        });
        self.losses = losses;
    }

    fn end(&mut self, reason: &FinishReason, out: &mut BytesMut) {
        let open: Vec<usize> = self.calls.iter().map(|call| call.index).collect();
        for index in open {
            self.end_call(index, out);
        }
        let word = finish::write(reason);
        let mut losses = std::mem::take(&mut self.losses);
        losses.finish(reason, &finish::read(word, self.written > 0));
        self.line(out, |o| {
            self.message(o, "", |_| {});
            o.bool("done", true);
            o.string("done_reason", word);
            usage::write(&self.usage, None, o, &mut losses);
        });
        self.losses = losses;
    }
}

impl StreamWriter for OllamaWriter {
    fn write(&mut self, event: &Event, out: &mut BytesMut) {
        match event {
            Event::Start { .. } => {}
            Event::Text(text) => self.delta(out, text, |_| {}),
            Event::Refusal(text) => self.refuse(text, out),
            Event::Reasoning(text) => self.think(text, out),
            Event::EndPart(native) => {
                self.losses.own(native.as_deref(), &OLLAMA);
            }
            Event::Part(part) => self.part(part, out),
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
            Event::Finish(reason) => self.end(reason, out),
        }
    }

    fn fail(&mut self, error: &Error, out: &mut BytesMut) {
        object(out, |o| error::write_into(error, o));
        out.extend_from_slice(b"\n");
    }

    fn losses(&self) -> Vec<Loss> {
        self.losses.clone().into_vec()
    }
}
