//! Reads a stream of `GenerateContentResponse`s into [`Event`]s.
//!
//! Each response holds the new parts. There is no terminator: a stream is complete
//! if it ends after a `finishReason`.

use std::borrow::Cow;
use std::sync::LazyLock;

use majordomo_llm::{Error, ErrorKind, Event, Json, Native, Part, Result, Usage};
use memchr::{memchr, memmem};

use super::partial_args::ArgumentText;
use super::read_part::{GeminiFunctionCall, GeminiPartFields};
use super::stream_chunk::GeminiStreamChunk;
use super::usage::read_usage;
use super::{GEMINI, finish};
use crate::StreamReader;
use crate::failure::ErrorBody;
use crate::frame_content::{FrameContent, first_text};
use crate::framing::{ObjectSplitter, SseDecoder, SseFrame};
use crate::json::{self, ReadError, Rest};

/// Decodes `GenerateContentResponse`s into events.
#[derive(Default)]
pub(super) struct GeminiStreamReader {
    sse: SseDecoder,
    /// Without `alt=sse` a stream is a JSON array, and errors have no SSE framing.
    bare: ObjectSplitter,
    state: GeminiStreamState,
}

impl StreamReader for GeminiStreamReader {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let (bare, state) = (&mut self.bare, &mut self.state);
        self.sse.push(bytes, |frame| match frame {
            SseFrame::Event { data, .. } => state.push_data(data, events),
            SseFrame::Bare(line) => bare.push(line, |data| state.push_data(data, events)),
        })
    }

    fn tap(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let (bare, state) = (&mut self.bare, &mut self.state);
        self.sse.push(bytes, |frame| match frame {
            SseFrame::Event { data, .. } if !tap_needs(data) => {
                state.tap_usage(data, events);
                Ok(())
            }
            SseFrame::Event { data, .. } => state.push_data(data, events),
            SseFrame::Bare(line) => bare.push(line, |data| state.push_data(data, events)),
        })
    }

    fn content<'a>(&self, frame: &'a [u8]) -> FrameContent<'a> {
        find_content(frame)
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let (bare, state) = (&mut self.bare, &mut self.state);
        self.sse.finish(|frame| match frame {
            SseFrame::Event { data, .. } => state.push_data(data, events),
            SseFrame::Bare(line) => bare.push(line, |data| state.push_data(data, events)),
        })?;
        state.finish(events)
    }
}

/// Whether a tap must parse a chunk.
fn tap_needs(data: &[u8]) -> bool {
    let has = |key: &[u8]| memmem::find(data, key).is_some();
    has(b"\"finishReason\"") || has(b"\"blockReason\"") || has(b"\"error\"")
}

static CONTENT_KEYS: LazyLock<[memmem::Finder<'static>; 2]> =
    LazyLock::new(|| ["\"text\"", "\"name\""].map(memmem::Finder::new));

/// Finds the content of a chunk, roughly: nearly all of them report the tokens so far.
fn find_content(frame: &[u8]) -> FrameContent<'_> {
    if let Some(text) = first_text(frame, &CONTENT_KEYS[..1]) {
        return FrameContent::Delta(text);
    }
    memmem::find(frame, b"\"functionCall\"")
        .and_then(|at| first_text(&frame[at..], &CONTENT_KEYS[1..]))
        .map_or(FrameContent::Nothing, FrameContent::Call)
}

#[derive(Default)]
struct GeminiStreamState {
    started: bool,
    /// The index of the candidate to read: that of the first one seen.
    candidate: Option<u64>,
    /// Whether a thought is open.
    in_thought: bool,
    calls: usize,
    /// The call whose arguments are incomplete.
    open_call: Option<ArgumentText>,
    usage: Option<Usage>,
    emitted_usage: Option<Usage>,
    finish_reason: Option<String>,
    blocked: bool,
}

impl GeminiStreamState {
    fn push_data(&mut self, data: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let data = data.trim_ascii();
        // SSE events without a blank line between them arrive as one event of
        // several data lines.
        let is_object = |line: &[u8]| line.starts_with(b"{") && line.trim_ascii().ends_with(b"}");
        if memchr(b'\n', data).is_some() && data.split(|byte| *byte == b'\n').all(is_object) {
            let mut lines = data.split(|byte| *byte == b'\n');
            return lines.try_for_each(|line| self.push_data(line, events));
        }
        if data.is_empty() || data == b"[DONE]" {
            return Ok(());
        }
        let mut chunk = GeminiStreamChunk::default();
        json::read(data, |cursor| {
            cursor.loose_object(|key, cursor| {
                chunk.read_field(key, cursor, &mut self.candidate, None)
            })
        })
        .map_err(ReadError::in_response)?;
        match chunk.error {
            Some(error) => Err(ErrorBody::inside(error).into_error(None)),
            None => self.push_chunk(chunk, events),
        }
    }

    fn push_chunk(&mut self, chunk: GeminiStreamChunk<'_>, events: &mut Vec<Event>) -> Result<()> {
        if !self.started {
            let non_empty = |text: Option<Cow<'_, str>>| {
                text.filter(|text| !text.is_empty()).map(Cow::into_owned)
            };
            let (id, model) = (non_empty(chunk.id), non_empty(chunk.model));
            self.started = true;
            events.push(Event::Start { id, model });
        }
        self.usage = chunk.usage.or(self.usage);
        // Some clients need the input tokens first.
        if let (None, Some(usage)) = (self.emitted_usage, self.usage) {
            let input = Usage::new(usage.input, 0).with_cache_read(usage.cache_read);
            self.emitted_usage = Some(input);
            events.push(Event::Usage(input));
        }
        for (part, raw) in chunk.parts {
            self.push_part(part, raw, events)?;
        }
        // The counts include the parts of their chunk, so they also apply if the stream is
        // cut.
        self.emit_usage(events);
        self.blocked |= chunk.blocked;
        if let Some(name) = chunk.finish_reason {
            self.finish_reason = Some(name.into_owned());
        }
        Ok(())
    }

    fn push_part(
        &mut self,
        mut part: GeminiPartFields<'_>,
        raw: &str,
        events: &mut Vec<Event>,
    ) -> Result<()> {
        if let Some((call, rest)) = part.take_call() {
            return self.push_call(call, rest, events);
        }
        let Some(part) = part.into_part(raw) else {
            return Ok(());
        };
        let signed = |native: &Native| native.fields().any(|(name, _)| name != "field");
        match part {
            Part::Reasoning(thought) if !thought.native.as_deref().is_some_and(signed) => {
                self.end_call(events);
                self.in_thought = true;
                events.push(Event::Reasoning(thought.text));
            }
            Part::Text(text) if text.native.is_none() => {
                self.end_call(events);
                self.end_thought(events);
                events.push(Event::Text(text.text));
            }
            // A signed part is never merged.
            part @ (Part::Text(_)
            | Part::Refusal(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::Reasoning(_)
            | Part::ToolCall(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_)) => {
                self.end_call(events);
                self.end_thought(events);
                events.push(Event::Part(part));
            }
        }
        Ok(())
    }

    /// Starts a call if it has a name, and continues the last one otherwise.
    fn push_call(
        &mut self,
        call: GeminiFunctionCall<'_>,
        rest: Rest,
        events: &mut Vec<Event>,
    ) -> Result<()> {
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
        for arg in &call.partial_args {
            open.push(arg, &mut fragment)?;
        }
        if let (true, Some(arguments)) = (call.partial_args.is_empty(), call.arguments) {
            fragment.push_str(&arguments);
        }
        self.emit_arguments(fragment, events);
        if !call.continues {
            self.end_call(events);
        }
        Ok(())
    }

    fn emit_arguments(&self, fragment: String, events: &mut Vec<Event>) {
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
        self.emit_arguments(fragment, events);
        events.push(Event::ToolCallEnd {
            index: self.calls - 1,
        });
    }

    fn end_thought(&mut self, events: &mut Vec<Event>) {
        if std::mem::take(&mut self.in_thought) {
            let native = Native::new(GEMINI).with("field", Json::string("thought"));
            events.push(Event::EndPart(native.into_option()));
        }
    }

    /// Reads the counts of a chunk that is forwarded as bytes.
    fn tap_usage(&mut self, data: &[u8], events: &mut Vec<Event>) {
        const KEY: &[u8] = b"\"usageMetadata\"";
        let counts = memmem::rfind(data, KEY)
            .and_then(|at| std::str::from_utf8(&data[at + KEY.len()..]).ok())
            .and_then(|rest| rest.trim_ascii_start().strip_prefix(':'));
        // A chunk that does not parse is reported when the stream ends.
        let usage = counts.and_then(|text| json::read_front(text, read_usage)?);
        self.usage = usage.or(self.usage);
        self.emit_usage(events);
    }

    fn emit_usage(&mut self, events: &mut Vec<Event>) {
        if self.usage != self.emitted_usage {
            self.emitted_usage = self.usage;
            events.extend(self.usage.map(Event::Usage));
        }
    }

    /// Ends the stream.
    fn finish(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let reason = match (self.finish_reason.take(), self.blocked) {
            (Some(name), _) => finish::read_finish_reason(&name, self.calls > 0),
            (None, true) => majordomo_llm::FinishReason::ContentFilter,
            (None, false) => {
                return Err(Error::new(
                    ErrorKind::Truncated,
                    "the stream ended before a finishReason",
                ));
            }
        };
        self.end_call(events);
        self.end_thought(events);
        self.emit_usage(events);
        events.push(Event::Finish(reason));
        Ok(())
    }
}
