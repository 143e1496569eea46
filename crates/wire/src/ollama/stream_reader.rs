//! Reads an NDJSON stream, or a single JSON object, into [`Event`]s.

use std::borrow::Cow;
use std::sync::LazyLock;

use majordomo_llm::{Error, ErrorKind, Event, Part, Result, ToolCall, Usage};
use memchr::memmem;

use super::stream_chunk::OllamaStreamChunk;
use super::{finish, reasoning_native};
use crate::StreamReader;
use crate::failure::ErrorBody;
use crate::frame_content::{FrameContent, first_text};
use crate::framing::{EventLimit, LineSplitter};
use crate::json::{self, ReadError};

/// Decodes NDJSON lines into events.
#[derive(Default)]
pub(super) struct OllamaStreamReader {
    lines: LineSplitter,
    state: OllamaStreamState,
}

impl StreamReader for OllamaStreamReader {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.lines
            .push(bytes, |line| state.push_line(line.bytes(), events))
    }

    fn tap(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.lines.push(bytes, |line| match line.bytes() {
            line if state.partial.is_empty() && !tap_needs(line) => Ok(()),
            line => state.push_line(line, events),
        })
    }

    fn content<'a>(&self, frame: &'a [u8]) -> FrameContent<'a> {
        find_content(frame)
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.lines.finish(|line| state.push_line(line, events))?;
        state.finish(events)
    }
}

/// Whether a tap must parse a line: the last one, errors, and tool calls, which
/// determine the finish reason.
fn tap_needs(line: &[u8]) -> bool {
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

static CONTENT_KEYS: LazyLock<[memmem::Finder<'static>; 4]> = LazyLock::new(|| {
    ["\"content\"", "\"thinking\"", "\"response\"", "\"name\""].map(memmem::Finder::new)
});

/// Finds the content of a line.
fn find_content(line: &[u8]) -> FrameContent<'_> {
    if let Some(text) = first_text(line, &CONTENT_KEYS[..3]) {
        return FrameContent::Delta(text);
    }
    let Some(calls) = memmem::find(line, b"\"tool_calls\"").map(|at| &line[at..]) else {
        return FrameContent::Nothing;
    };
    const ARGUMENTS: &[u8] = b"\"arguments\":";
    let arguments = memmem::find(calls, ARGUMENTS).map_or(&[][..], |at| {
        let arguments = calls[at + ARGUMENTS.len()..].trim_ascii_start();
        let end = memmem::find(arguments, b"}}").unwrap_or(arguments.len());
        &arguments[..end]
    });
    let name = first_text(calls, &CONTENT_KEYS[3..]).unwrap_or_default();
    FrameContent::WholeCall { name, arguments }
}

#[derive(Default)]
struct OllamaStreamState {
    started: bool,
    /// The lines so far of an object that spans several.
    partial: Vec<u8>,
    in_reasoning: bool,
    calls: usize,
    usage: Option<Usage>,
    done: bool,
}

impl OllamaStreamState {
    fn push_line(&mut self, line: &[u8], events: &mut Vec<Event>) -> Result<()> {
        if self.done || (line.trim_ascii().is_empty() && self.partial.is_empty()) {
            return Ok(());
        }
        if self.partial.is_empty() && line.trim_ascii_end().ends_with(b"}") {
            return self.push_object(line, events);
        }
        // A server that does not stream may send one indented object.
        let before = self.partial.len();
        self.partial.extend_from_slice(line);
        self.partial.push(b'\n');
        let limit = EventLimit::default();
        limit.check_growing(before, &self.partial)?;
        if line.starts_with(b"}") {
            let object = std::mem::take(&mut self.partial);
            limit.check(&object)?;
            return self.push_object(&object, events);
        }
        Ok(())
    }

    fn push_object(&mut self, text: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let mut chunk = OllamaStreamChunk::default();
        json::read(text, |cursor| {
            cursor.loose_object(|key, cursor| chunk.read_field(key, cursor))
        })
        .map_err(ReadError::in_response)?;
        if let Some(error) = chunk.error {
            return Err(ErrorBody::inside(error).into_error(None));
        }
        self.push_chunk(chunk, events);
        Ok(())
    }

    fn push_chunk(&mut self, chunk: OllamaStreamChunk<'_>, events: &mut Vec<Event>) {
        let is_last = chunk.is_last();
        let model = chunk.model.filter(|model| !model.is_empty());
        if !self.started && (model.is_some() || chunk.has_message) {
            self.started = true;
            events.push(Event::Start {
                id: None,
                model: model.map(Cow::into_owned),
            });
        }
        let (parts, _) = chunk.message.into_parts();
        for part in parts {
            self.push_part(part, events);
        }
        self.usage = chunk.usage.or(self.usage);
        if is_last {
            self.complete(chunk.done_reason.as_deref().unwrap_or_default(), events);
        }
    }

    fn push_part(&mut self, part: Part, events: &mut Vec<Event>) {
        if let Part::Reasoning(reasoning) = part {
            self.in_reasoning = true;
            events.push(Event::Reasoning(reasoning.text));
            return;
        }
        self.close_reasoning(events);
        match part {
            Part::Text(text) => events.push(Event::Text(text.text)),
            Part::ToolCall(call) => self.push_call(call, events),
            part @ (Part::Refusal(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::Reasoning(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_)) => events.push(Event::Part(part)),
        }
    }

    /// Emits a call, which always arrives complete.
    fn push_call(&mut self, call: ToolCall, events: &mut Vec<Event>) {
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
        if std::mem::take(&mut self.in_reasoning) {
            events.push(Event::EndPart(reasoning_native()));
        }
    }

    /// Emits the final events.
    fn complete(&mut self, reason: &str, events: &mut Vec<Event>) {
        self.done = true;
        self.close_reasoning(events);
        if let Some(usage) = self.usage {
            events.push(Event::Usage(usage));
        }
        events.push(Event::Finish(finish::read_finish_reason(
            reason,
            self.calls > 0,
        )));
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let rest = std::mem::take(&mut self.partial);
        if !self.done && !rest.trim_ascii().is_empty() {
            self.push_object(&rest, events)?;
        }
        if self.done {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Truncated,
            "the stream ended before `done`",
        ))
    }
}
