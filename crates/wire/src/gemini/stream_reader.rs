//! Streamed answers, read.
//!
//! Each event is a whole response, its parts being what is new. There is no
//! terminator: a stream is complete if it ends after a reason to stop was told.

use std::borrow::Cow;

use majordomo_llm::{Error, ErrorKind, Event, Json, Native, Part, Result, Usage};
use memchr::{memchr, memmem};

use super::partial_args::ArgumentText;
use super::read_part::{Call, PartFields};
use super::stream_chunk::Chunk;
use super::{GEMINI, finish};
use crate::StreamReader;
use crate::failure::ErrorBody;
use crate::framing::{ObjectSplitter, SseDecoder, SseFrame};
use crate::json::{self, ReadError, Rest};

/// Turns chunks into events.
#[derive(Default)]
pub(super) struct GeminiReader {
    sse: SseDecoder,
    /// Without `alt=sse` a stream is a list of responses, and errors come bare.
    bare: ObjectSplitter,
    state: State,
}

impl StreamReader for GeminiReader {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let (bare, state) = (&mut self.bare, &mut self.state);
        self.sse.push(bytes, |frame| match frame {
            SseFrame::Event { data, .. } => state.data(data, events),
            SseFrame::Bare(line) => bare.push(line, |data| state.data(data, events)),
        })
    }

    fn tap(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let (bare, state) = (&mut self.bare, &mut self.state);
        self.sse.push(bytes, |frame| match frame {
            SseFrame::Event { data, .. } if !matters(data) => Ok(()),
            SseFrame::Event { data, .. } => state.data(data, events),
            SseFrame::Bare(line) => bare.push(line, |data| state.data(data, events)),
        })
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let (bare, state) = (&mut self.bare, &mut self.state);
        self.sse.finish(|frame| match frame {
            SseFrame::Event { data, .. } => state.data(data, events),
            SseFrame::Bare(line) => bare.push(line, |data| state.data(data, events)),
        })?;
        state.end(events)
    }
}

/// Whether a tap must look into a chunk. Counts are cumulative, so those of the
/// last chunk, which has the reason to stop, are enough.
fn matters(data: &[u8]) -> bool {
    let says = |key: &[u8]| memmem::find(data, key).is_some();
    says(b"\"finishReason\"") || says(b"\"blockReason\"") || says(b"\"error\"")
}

#[derive(Default)]
struct State {
    started: bool,
    /// Which of several candidates is read: the first one that comes.
    candidate: Option<u64>,
    /// Whether a thought is open.
    thinking: bool,
    calls: usize,
    /// The call whose arguments still come.
    open_call: Option<ArgumentText>,
    usage: Option<Usage>,
    told_usage: Option<Usage>,
    finish: Option<String>,
    blocked: bool,
}

impl State {
    fn data(&mut self, data: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let data = data.trim_ascii();
        // Events without a blank line between them look like one of several lines.
        let whole = |line: &[u8]| line.starts_with(b"{") && line.trim_ascii().ends_with(b"}");
        if memchr(b'\n', data).is_some() && data.split(|byte| *byte == b'\n').all(whole) {
            let mut lines = data.split(|byte| *byte == b'\n');
            return lines.try_for_each(|line| self.data(line, events));
        }
        if data.is_empty() || data == b"[DONE]" {
            return Ok(());
        }
        let mut chunk = Chunk::default();
        json::read(data, |cursor| {
            cursor.loose_object(|key, cursor| chunk.read(key, cursor, &mut self.candidate, None))
        })
        .map_err(ReadError::in_response)?;
        match chunk.error {
            Some(error) => Err(ErrorBody::inside(error).into_error(None)),
            None => self.chunk(chunk, events),
        }
    }

    fn chunk(&mut self, chunk: Chunk<'_>, events: &mut Vec<Event>) -> Result<()> {
        if !self.started {
            let known = |text: Option<Cow<'_, str>>| {
                text.filter(|text| !text.is_empty()).map(Cow::into_owned)
            };
            let (id, model) = (known(chunk.id), known(chunk.model));
            self.started = true;
            events.push(Event::Start { id, model });
        }
        self.usage = chunk.usage.or(self.usage);
        // Told once early, since some clients want to know the input first.
        if self.told_usage.is_none() {
            self.tell_usage(events);
        }
        for (part, raw) in chunk.parts {
            self.part(part, raw, events)?;
        }
        self.blocked |= chunk.blocked;
        if let Some(word) = chunk.finish {
            self.finish = Some(word.into_owned());
        }
        Ok(())
    }

    fn part(&mut self, mut part: PartFields<'_>, raw: &str, events: &mut Vec<Event>) -> Result<()> {
        if let Some((call, rest)) = part.take_call() {
            return self.call(call, rest, events);
        }
        let Some(part) = part.into_part(raw) else {
            return Ok(());
        };
        let signed = |native: &Native| native.fields().any(|(name, _)| name != "field");
        match part {
            Part::Reasoning(thought) if !thought.native.as_deref().is_some_and(signed) => {
                self.end_call(events);
                self.thinking = true;
                events.push(Event::Reasoning(thought.text));
            }
            Part::Text(text) if text.native.is_none() => {
                self.end_call(events);
                self.end_thought(events);
                events.push(Event::Text(text.text));
            }
            // Whatever is signed is a part of its own.
            part => {
                self.end_call(events);
                self.end_thought(events);
                events.push(Event::Part(part));
            }
        }
        Ok(())
    }

    /// A call with a name begins one; one without goes on with the last.
    fn call(&mut self, call: Call<'_>, rest: Rest, events: &mut Vec<Event>) -> Result<()> {
        let mut fragment = String::new();
        if !call.name.is_empty() {
            self.end_call(events);
            self.end_thought(events);
            events.push(Event::ToolCallStart {
                index: self.calls,
                id: call.id.map(Cow::into_owned).filter(|id| !id.is_empty()),
                name: call.name.into_owned(),
                native: rest.into_native(GEMINI),
            });
            self.calls += 1;
            self.open_call = Some(ArgumentText::default());
        }
        let Some(open) = &mut self.open_call else {
            return Ok(());
        };
        for arg in &call.partial {
            open.push(arg, &mut fragment)?;
        }
        if let (true, Some(arguments)) = (call.partial.is_empty(), call.arguments) {
            fragment.push_str(arguments);
        }
        self.tell_arguments(fragment, events);
        if !call.continues {
            self.end_call(events);
        }
        Ok(())
    }

    fn tell_arguments(&self, fragment: String, events: &mut Vec<Event>) {
        if !fragment.is_empty() {
            events.push(Event::ToolCallArguments {
                index: self.calls - 1,
                fragment,
            });
        }
    }

    fn end_call(&mut self, events: &mut Vec<Event>) {
        let Some(open) = self.open_call.take() else {
            return;
        };
        let mut fragment = String::new();
        open.finish(&mut fragment);
        self.tell_arguments(fragment, events);
        events.push(Event::ToolCallEnd {
            index: self.calls - 1,
        });
    }

    fn end_thought(&mut self, events: &mut Vec<Event>) {
        if std::mem::take(&mut self.thinking) {
            let native = Native::new(GEMINI).with("field", Json::string("thought"));
            events.push(Event::EndPart(native.into_option()));
        }
    }

    fn tell_usage(&mut self, events: &mut Vec<Event>) {
        if self.usage != self.told_usage {
            self.told_usage = self.usage;
            events.extend(self.usage.map(Event::Usage));
        }
    }

    /// The stream ended.
    fn end(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let reason = match (self.finish.take(), self.blocked) {
            (Some(word), _) => finish::read(&word, self.calls > 0),
            (None, true) => majordomo_llm::FinishReason::ContentFilter,
            (None, false) => {
                return Err(Error::new(
                    ErrorKind::Truncated,
                    "the stream ended before the model said that it was done",
                ));
            }
        };
        self.end_call(events);
        self.end_thought(events);
        self.tell_usage(events);
        events.push(Event::Finish(reason));
        Ok(())
    }
}
