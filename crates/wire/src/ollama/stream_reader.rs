//! Streamed answers, read: one JSON object a line, or one object in all.

use std::borrow::Cow;

use majordomo_llm::{Error, ErrorKind, Event, Part, Result, ToolCall, Usage};
use memchr::memmem;

use super::stream_chunk::Chunk;
use super::{finish, own_reasoning};
use crate::StreamReader;
use crate::failure::ErrorBody;
use crate::framing::{EventLimit, LineSplitter};
use crate::json::{self, ReadError};

/// Turns lines into events.
#[derive(Default)]
pub(super) struct OllamaReader {
    lines: LineSplitter,
    state: State,
}

impl StreamReader for OllamaReader {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.lines
            .push(bytes, |line| state.line(line.bytes(), events))
    }

    fn tap(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.lines.push(bytes, |line| match line.bytes() {
            line if state.spread.is_empty() && !matters(line) => Ok(()),
            line => state.line(line, events),
        })
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.lines.finish(|line| state.line(line, events))?;
        state.end(events)
    }
}

/// Whether a tap must look into a line: at its end, at an error, and at calls,
/// since they decide on the reason to finish.
fn matters(line: &[u8]) -> bool {
    let has = |key: &[u8]| memmem::find(line, key).is_some();
    let done = || {
        memmem::find(line, b"\"done\"").is_some_and(|at| {
            let value = line[at + 6..].trim_ascii_start();
            let value = value.strip_prefix(b":").unwrap_or(value).trim_ascii_start();
            !value.starts_with(b"false")
        })
    };
    !line.ends_with(b"}")
        || done()
        || has(b"\"done_reason\"")
        || has(b"\"error\"")
        || has(b"\"tool_calls\"")
}

#[derive(Default)]
struct State {
    started: bool,
    /// The lines of an object that is spread over several.
    spread: Vec<u8>,
    is_reasoning: bool,
    calls: usize,
    usage: Option<Usage>,
    done: bool,
}

impl State {
    fn line(&mut self, line: &[u8], events: &mut Vec<Event>) -> Result<()> {
        if self.done || (line.trim_ascii().is_empty() && self.spread.is_empty()) {
            return Ok(());
        }
        if self.spread.is_empty() && line.trim_ascii_end().ends_with(b"}") {
            return self.object(line, events);
        }
        // A server that does not stream may indent its one answer.
        let before = self.spread.len();
        self.spread.extend_from_slice(line);
        self.spread.push(b'\n');
        let bound = EventLimit::default();
        bound.check_growing(before, &self.spread)?;
        if line.starts_with(b"}") {
            let whole = std::mem::take(&mut self.spread);
            bound.check(&whole)?;
            return self.object(&whole, events);
        }
        Ok(())
    }

    fn object(&mut self, text: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let mut chunk = Chunk::default();
        json::read(text, |cursor| {
            cursor.loose_object(|key, cursor| chunk.read(key, cursor))
        })
        .map_err(ReadError::in_response)?;
        if let Some(error) = chunk.error {
            return Err(ErrorBody::inside(error).into_error(None));
        }
        self.chunk(chunk, events);
        Ok(())
    }

    fn chunk(&mut self, chunk: Chunk<'_>, events: &mut Vec<Event>) {
        let is_last = chunk.is_last();
        let model = chunk.model.filter(|model| !model.is_empty());
        if !self.started && (model.is_some() || chunk.said) {
            self.started = true;
            events.push(Event::Start {
                id: None,
                model: model.map(Cow::into_owned),
            });
        }
        let (parts, _) = chunk.message.into_parts();
        for part in parts {
            self.part(part, events);
        }
        self.usage = chunk.usage.or(self.usage);
        if is_last {
            self.complete(chunk.finish.as_deref().unwrap_or_default(), events);
        }
    }

    fn part(&mut self, part: Part, events: &mut Vec<Event>) {
        if let Part::Reasoning(reasoning) = part {
            self.is_reasoning = true;
            events.push(Event::Reasoning(reasoning.text));
            return;
        }
        self.close_reasoning(events);
        match part {
            Part::Text(text) => events.push(Event::Text(text.text)),
            Part::ToolCall(call) => self.call(call, events),
            part => events.push(Event::Part(part)),
        }
    }

    /// A call comes whole.
    fn call(&mut self, call: ToolCall, events: &mut Vec<Event>) {
        let index = self.calls;
        self.calls += 1;
        events.push(Event::ToolCallStart {
            index,
            id: Some(call.id).filter(|id| !id.is_empty()),
            name: call.name,
            native: call.native,
        });
        if !call.arguments.is_empty() {
            events.push(Event::ToolCallArguments {
                index,
                fragment: call.arguments,
            });
        }
        events.push(Event::ToolCallEnd { index });
    }

    fn close_reasoning(&mut self, events: &mut Vec<Event>) {
        if std::mem::take(&mut self.is_reasoning) {
            events.push(Event::EndPart(own_reasoning()));
        }
    }

    /// The stream said that it is complete.
    fn complete(&mut self, word: &str, events: &mut Vec<Event>) {
        self.done = true;
        self.close_reasoning(events);
        if let Some(usage) = self.usage {
            events.push(Event::Usage(usage));
        }
        events.push(Event::Finish(finish::read(word, self.calls > 0)));
    }

    fn end(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let rest = std::mem::take(&mut self.spread);
        if !self.done && !rest.trim_ascii().is_empty() {
            self.object(&rest, events)?;
        }
        if self.done {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Truncated,
            "the stream ended before the model said that it was done",
        ))
    }
}
