//! Writes streamed responses: every item is announced, written and closed, and
//! the last event repeats all of them.

mod calls;

use bytes::BytesMut;
use majordomo_llm::{Event, FinishReason, Native, Opaque, Part, Reasoning, Text, Usage};

use super::envelope::{self, ResponsesEnvelope};
use super::stream_event_writer::{ResponsesEventWriter, summary_part};
use super::stream_output::{
    ResponsesOpenCall, ResponsesOpenMessage, ResponsesOpenReasoning, ResponsesOutput,
    reasoning_item,
};
use super::write_item::ends_item;
use super::write_part::is_content;
use super::{RESPONSES, error, finish};
use crate::handles_all::handles_all;
use crate::loss::{LossVerb, Losses};
use crate::sealed_state::seal_reasoning;
use crate::{ClientError, Loss, Reply, StreamWriter};

const ADDED: &str = "response.output_item.added";
const DONE: &str = "response.output_item.done";

/// Converts the contract's events into the dialect's.
pub(super) struct ResponsesStreamWriter {
    reply: Reply,
    frames: ResponsesEventWriter,
    begun: bool,
    /// The open message, which takes texts until another kind of part arrives.
    message: Option<ResponsesOpenMessage>,
    /// The open reasoning; never set while a message is open.
    reasoning: Option<ResponsesOpenReasoning>,
    calls: Vec<ResponsesOpenCall>,
    /// Tool calls so far, for generated ids.
    call_count: usize,
    output: ResponsesOutput,
    usage: Usage,
    losses: Losses,
}

impl ResponsesStreamWriter {
    pub(super) fn new(reply: &Reply) -> Self {
        Self {
            reply: reply.clone(),
            frames: ResponsesEventWriter::default(),
            begun: false,
            message: None,
            reasoning: None,
            calls: Vec::new(),
            call_count: 0,
            output: ResponsesOutput::default(),
            usage: Usage::default(),
            losses: Losses::default(),
        }
    }

    fn begin(&mut self, out: &mut BytesMut) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        for kind in ["response.created", "response.in_progress"] {
            let reply = &self.reply;
            self.frames.event(out, kind, |o| {
                o.object("response", |o| ResponsesEnvelope::of(reply).write(o));
            });
        }
    }

    /// Opens an item; returns its index and id.
    fn place(&mut self, prefix: &str) -> (usize, String) {
        let place = self.output.open();
        (place, envelope::item_id(&self.reply.id, prefix, place))
    }

    fn text(&mut self, delta: &str, refusal: bool, out: &mut BytesMut) {
        if delta.is_empty() {
            return;
        }
        let message = self.open_message(out);
        if message.grows(refusal).is_none() {
            self.end_text(None, out);
            self.add_text(refusal, out);
        }
        let Some(message) = &mut self.message else {
            return;
        };
        if let Some(text) = message.grows(refusal) {
            text.text.push_str(delta);
        }
        let kind = match refusal {
            true => "response.refusal.delta",
            false => "response.output_text.delta",
        };
        self.frames.content(out, kind, message, |o| {
            o.string("delta", delta);
            if !refusal {
                o.raw("logprobs", "[]");
            }
        });
    }

    /// Returns the open message, or a new one.
    fn open_message(&mut self, out: &mut BytesMut) -> &mut ResponsesOpenMessage {
        if self.message.is_none() {
            self.begin(out);
            self.end_open("completed", out);
            let (place, id) = self.place("msg");
            let message = ResponsesOpenMessage::new(place, id);
            let item = message.item("in_progress", &mut self.losses);
            self.frames.item(out, ADDED, place, &item);
            return self.message.insert(message);
        }
        self.message.get_or_insert_default()
    }

    fn add_text(&mut self, refusal: bool, out: &mut BytesMut) {
        if let Some(message) = &mut self.message {
            message.parts.push(match refusal {
                true => Part::Refusal(Text::default()),
                false => Part::Text(Text::default()),
            });
            message.growing = true;
            self.frames
                .block(out, "response.content_part.added", message);
        }
    }

    /// Ends the growing text, and its message if this was its last text.
    fn end_text(&mut self, native: Option<&Native>, out: &mut BytesMut) {
        let Some(message) = self.message.as_mut().filter(|message| message.growing) else {
            return;
        };
        message.growing = false;
        let own = self.losses.own(native, &RESPONSES);
        let (kind, key, text) = match message.parts.last_mut() {
            Some(Part::Refusal(text)) => ("response.refusal.done", "refusal", text),
            Some(Part::Text(text)) => ("response.output_text.done", "text", text),
            _ => return,
        };
        text.native = own.and_then(without_item_id);
        let full_text = text.text.clone();
        self.frames.content(out, kind, message, |o| {
            o.string(key, &full_text);
            if key == "text" {
                o.raw("logprobs", "[]");
            }
        });
        self.frames
            .block(out, "response.content_part.done", message);
        if ends_item(own) {
            self.end_open("completed", out);
        }
    }

    fn reasoning(&mut self, delta: &str, out: &mut BytesMut) {
        if self.reasoning.is_none() {
            self.end_open("completed", out);
        }
        let mut open = self.reasoning.take().unwrap_or_default();
        if !delta.is_empty() {
            let (place, id) = match open.announced.take() {
                Some(announced) => announced,
                None => self.announce_reasoning(out),
            };
            open.text.push_str(delta);
            let kind = "response.reasoning_summary_text.delta";
            self.frames
                .summary(out, kind, (place, &id), |o| o.string("delta", delta));
            open.announced = Some((place, id));
        }
        self.reasoning = Some(open);
    }

    fn announce_reasoning(&mut self, out: &mut BytesMut) -> (usize, String) {
        self.begin(out);
        let (place, id) = self.place("rs");
        let item = reasoning_item(&id, "", None, None);
        self.frames.item(out, ADDED, place, &item);
        let kind = "response.reasoning_summary_part.added";
        self.frames
            .summary(out, kind, (place, &id), |o| summary_part(o, ""));
        (place, id)
    }

    fn end_reasoning(
        &mut self,
        open: ResponsesOpenReasoning,
        native: Option<&Native>,
        out: &mut BytesMut,
    ) {
        let text = &open.text;
        let sealed = seal_reasoning(text, native, &RESPONSES, &mut self.losses);
        let own = match &sealed {
            Some(_) => None,
            None => self.losses.own(native, &RESPONSES),
        };
        let sealed = sealed.as_deref();
        let (place, id) = match (open.announced, own.is_some() || sealed.is_some()) {
            (Some((place, id)), _) => {
                let at = (place, id.as_str());
                let kind = "response.reasoning_summary_text.done";
                self.frames
                    .summary(out, kind, at, |o| o.string("text", text));
                let kind = "response.reasoning_summary_part.done";
                self.frames
                    .summary(out, kind, at, |o| summary_part(o, text));
                (place, id)
            }
            // State without text.
            (None, true) => {
                self.begin(out);
                let (place, id) = self.place("rs");
                let item = reasoning_item(&id, "", own, sealed);
                self.frames.item(out, ADDED, place, &item);
                (place, id)
            }
            (None, false) => return,
        };
        self.done(place, reasoning_item(&id, text, own, sealed), out);
    }

    /// Writes the state of the call that follows.
    fn call_state(&mut self, sealed: &str, out: &mut BytesMut) {
        let (place, id) = self.place("rs");
        let item = reasoning_item(&id, "", None, Some(sealed));
        self.frames.item(out, ADDED, place, &item);
        self.done(place, item, out);
    }

    fn done(&mut self, place: usize, item: BytesMut, out: &mut BytesMut) {
        self.frames.item(out, DONE, place, &item);
        self.output.close(place, item);
    }

    fn end_part(&mut self, native: Option<&Native>, out: &mut BytesMut) {
        match self.reasoning.take() {
            Some(open) => self.end_reasoning(open, native, out),
            None => self.end_text(native, out),
        }
    }

    /// Closes the open item of any kind.
    fn end_open(&mut self, status: &str, out: &mut BytesMut) {
        self.end_part(None, out);
        if let Some(message) = self.message.take() {
            let item = message.item(status, &mut self.losses);
            self.done(message.place, item, out);
        }
    }

    fn part(&mut self, part: &Part, out: &mut BytesMut) {
        match part {
            Part::Text(text) | Part::Refusal(text) => {
                self.text(&text.text, matches!(part, Part::Refusal(_)), out);
                self.end_part(text.native.as_deref(), out);
            }
            Part::Reasoning(Reasoning { text, native }) => {
                self.reasoning(text, out);
                self.end_part(native.as_deref(), out);
            }
            Part::ToolCall(call) => {
                // Indexes counted down from the maximum cannot collide with
                // those of events.
                let index = usize::MAX - self.call_count;
                let (id, native) = (Some(call.id.as_str()), call.native.as_deref());
                self.start_call(index, id, &call.name, native, out);
                self.arguments(index, &call.arguments, out);
                self.end_call(index, "completed", out);
            }
            Part::Opaque(block) if block.origin == RESPONSES => self.opaque(part, block, out),
            other @ (Part::Image(_)
            | Part::RemoteImage(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_)) => self.losses.part(other, "Responses has no such output"),
        }
    }

    fn opaque(&mut self, part: &Part, opaque: &Opaque, out: &mut BytesMut) {
        if is_content(part) {
            self.end_part(None, out);
            self.open_message(out).parts.push(part.clone());
            if let Some(message) = &self.message {
                self.frames
                    .block(out, "response.content_part.added", message);
                self.frames
                    .block(out, "response.content_part.done", message);
            }
            return;
        }
        self.begin(out);
        self.end_open("completed", out);
        let item = BytesMut::from(opaque.raw.as_str());
        let place = self.output.open();
        self.frames.item(out, ADDED, place, &item);
        self.done(place, item, out);
    }

    fn end(&mut self, reason: &FinishReason, out: &mut BytesMut) {
        self.begin(out);
        let status = envelope::status(reason);
        self.end_open(status, out);
        while let Some(call) = self.calls.first() {
            self.end_call(call.index, status, out);
        }
        if let Some(why) = finish::finish_loss(reason) {
            self.losses.record(LossVerb::Converted, "finish", why);
        }
        let output = self.output.list();
        let envelope_fields = ResponsesEnvelope::of(&self.reply)
            .finished(reason)
            .output(&output)
            .usage(&self.usage);
        let kind = match status {
            "completed" => "response.completed",
            _ => "response.incomplete",
        };
        self.frames.event(out, kind, |o| {
            o.object("response", |o| envelope_fields.write(o))
        });
    }
}

/// Drops the item id, since a message keeps the id it was announced with.
fn without_item_id(native: &Native) -> Option<Box<Native>> {
    let mut kept = Native::new(RESPONSES);
    for (name, value) in native.fields().filter(|(name, _)| *name != "item.id") {
        kept.push(name, value.clone());
    }
    kept.into_option()
}

handles_all!(11 of Event);

impl StreamWriter for ResponsesStreamWriter {
    fn write(&mut self, event: &Event, out: &mut BytesMut) {
        match event {
            Event::Start { .. } => self.begin(out),
            Event::Text(text) => self.text(text, false, out),
            Event::Refusal(text) => self.text(text, true, out),
            Event::Reasoning(text) => self.reasoning(text, out),
            Event::EndPart(native) => self.end_part(native.as_deref(), out),
            Event::Part(part) => self.part(part, out),
            Event::ToolCallStart {
                index,
                id,
                name,
                native,
            } => self.start_call(*index, id.as_deref(), name, native.as_deref(), out),
            Event::ToolCallArguments { index, fragment } => self.arguments(*index, fragment, out),
            Event::ToolCallEnd { index } => self.end_call(*index, "completed", out),
            Event::Usage(usage) => self.usage = *usage,
            Event::Finish(reason) => self.end(reason, out),
            _ => {}
        }
    }

    /// Writes what OpenAI sends: an `error` event, in both the documented and
    /// the actual form, and a failed response.
    fn fail_with(&mut self, error: &ClientError, out: &mut BytesMut) {
        self.frames
            .event(out, "error", |o| error::write_error_event(error, o));
        let output = self.output.list();
        let envelope_fields = ResponsesEnvelope::of(&self.reply)
            .failed(error)
            .output(&output);
        self.frames.event(out, "response.failed", |o| {
            o.object("response", |o| envelope_fields.write(o));
        });
    }

    fn losses(&self) -> Vec<Loss> {
        self.losses.clone().into_vec()
    }
}
