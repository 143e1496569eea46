//! Reads a stream of server-sent events into [`Event`]s.

use std::borrow::Cow;
use std::sync::LazyLock;

use majordomo_llm::{Error, ErrorKind, Event, Json, Native, Result, Usage};
use memchr::memmem;

use super::stream_calls::ChatToolCallStates;
use super::stream_chunk::{ChatContentDelta, ChatStreamChunk};
use super::write_part::list_elements;
use super::{CHAT, finish};
use crate::StreamReader;
use crate::failure::ErrorBody;
use crate::frame_content::{FrameContent, first_text};
use crate::framing::{SseDecoder, SseFrame};
use crate::json::{self, ReadError};

/// Decodes `chat.completion.chunk`s into events.
#[derive(Default)]
pub(super) struct ChatStreamReader {
    sse: SseDecoder,
    state: ChatStreamState,
}

impl StreamReader for ChatStreamReader {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.sse
            .push(bytes, |frame| state.push_frame(frame, events))
    }

    fn tap(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.sse.push(bytes, |frame| match frame {
            SseFrame::Event { data, .. } if !tap_needs(data) => Ok(()),
            frame => state.push_frame(frame, events),
        })
    }

    fn content<'a>(&self, frame: &'a [u8]) -> FrameContent<'a> {
        find_content(frame)
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.sse.finish(|frame| state.push_frame(frame, events))?;
        state.finish(events)
    }
}

/// Keys that make a tap parse a chunk. Building a searcher costs more than the
/// search, so they are built once.
static TAP_KEYS: LazyLock<[memmem::Finder<'static>; 3]> =
    LazyLock::new(|| ["\"finish_reason\"", "\"usage\"", "\"error\""].map(memmem::Finder::new));

/// Whether a tap must parse a chunk. Most chunks set the first two keys to null.
fn tap_needs(data: &[u8]) -> bool {
    data.first() != Some(&b'{') || TAP_KEYS.iter().any(|key| is_set(key, data))
}

/// Whether a chunk may report usage. Most chunks do not.
pub(super) fn may_report_usage(data: &[u8]) -> bool {
    is_set(&TAP_KEYS[1], data)
}

fn is_set(key: &memmem::Finder<'_>, data: &[u8]) -> bool {
    key.find(data).is_some_and(|at| {
        let value = data[at + key.needle().len()..].trim_ascii_start();
        let value = value.strip_prefix(b":").unwrap_or(value).trim_ascii_start();
        !value.starts_with(b"null")
    })
}

/// Keys of content, the frequent ones first.
static CONTENT_KEYS: LazyLock<[memmem::Finder<'static>; 6]> = LazyLock::new(|| {
    [
        "\"content\"",
        "\"reasoning_content\"",
        "\"reasoning\"",
        "\"arguments\"",
        "\"refusal\"",
        "\"text\"",
    ]
    .map(memmem::Finder::new)
});

static CALL_KEYS: LazyLock<[memmem::Finder<'static>; 1]> =
    LazyLock::new(|| ["\"name\""].map(memmem::Finder::new));

/// Finds the content of a chunk.
fn find_content(frame: &[u8]) -> FrameContent<'_> {
    if let Some(text) = first_text(frame, &CONTENT_KEYS[..1]) {
        return FrameContent::Delta(text);
    }
    if let Some(at) = memmem::find(frame, b"\"tool_calls\"")
        && let calls = &frame[at..]
        && let Some(name) = first_text(calls, &*CALL_KEYS)
    {
        return match first_text(calls, &CONTENT_KEYS[3..4]) {
            Some(arguments) => FrameContent::WholeCall { name, arguments },
            None => FrameContent::Call(name),
        };
    }
    first_text(frame, &CONTENT_KEYS[1..]).map_or(FrameContent::Nothing, FrameContent::Delta)
}

#[derive(Default)]
struct ChatStreamState {
    started: bool,
    /// The index of the choice to read: that of the first one seen.
    choice: Option<u64>,
    calls: ChatToolCallStates,
    reasoning: Option<ChatOpenReasoning>,
    refused: bool,
    usage: Option<Usage>,
    finish_reason: Option<String>,
    done: bool,
}

/// A reasoning part that has not ended.
#[derive(Default)]
struct ChatOpenReasoning {
    field: &'static str,
    /// The elements of `reasoning_details`, joined by commas.
    details: String,
}

impl ChatStreamState {
    fn push_frame(&mut self, frame: SseFrame<'_>, events: &mut Vec<Event>) -> Result<()> {
        let (name, data) = match frame {
            SseFrame::Event { name, data } => (name, data),
            // JSON without SSE framing, most likely an error.
            SseFrame::Bare(line) if line.starts_with(b"{") => ("", line),
            SseFrame::Bare(_) => return Ok(()),
        };
        let data = data.trim_ascii();
        if self.done || data.is_empty() {
            return Ok(());
        }
        if data == b"[DONE]" {
            self.finish_reason.get_or_insert_default();
            self.complete(events);
            return Ok(());
        }
        let mut chunk = ChatStreamChunk::default();
        json::read(data, |cursor| {
            cursor.loose_object(|key, cursor| chunk.read_field(key, cursor, &mut self.choice))
        })
        .map_err(ReadError::in_response)?;
        match chunk.error {
            Some(error) => Err(ErrorBody::inside(error).into_error(None)),
            None if name == "error" => Err(ErrorBody::of(data).into_error(None)),
            None => self.push_chunk(chunk, events),
        }
    }

    fn push_chunk(&mut self, chunk: ChatStreamChunk<'_>, events: &mut Vec<Event>) -> Result<()> {
        let delta = chunk.delta;
        if !self.started {
            let non_empty = |text: Option<Cow<'_, str>>| {
                text.filter(|text| !text.is_empty()).map(Cow::into_owned)
            };
            let (id, model) = (non_empty(chunk.id), non_empty(chunk.model));
            // Some servers send an empty first chunk.
            if id.is_some() || model.is_some() || !delta.is_empty() {
                self.started = true;
                events.push(Event::Start { id, model });
            }
        }
        if let Some((field, text)) = delta.reasoning.filter(|(_, text)| !text.is_empty()) {
            self.open_reasoning(field);
            events.push(Event::Reasoning(text.into_owned()));
        }
        if let Some(details) = delta.reasoning_details {
            self.keep_details(details);
        }
        for content in delta.content {
            match content {
                ChatContentDelta::Thinking(text) if !text.is_empty() => {
                    self.open_reasoning("thinking");
                    events.push(Event::Reasoning(text));
                }
                ChatContentDelta::Text(text) if !text.is_empty() => {
                    self.close_reasoning(events);
                    events.push(Event::Text(text.into_owned()));
                }
                _ => {}
            }
        }
        if let Some(text) = delta.refusal.filter(|text| !text.is_empty()) {
            self.close_reasoning(events);
            self.refused = true;
            events.push(Event::Refusal(text.into_owned()));
        }
        for call in delta.calls {
            self.close_reasoning(events);
            self.calls.push(call, events)?;
        }
        // Emitted at once, so that reported usage also counts if the stream is cut.
        if chunk.usage.is_some() && chunk.usage != self.usage {
            self.usage = chunk.usage;
            events.extend(chunk.usage.map(Event::Usage));
        }
        if let Some(reason) = chunk.finish_reason {
            self.finish_reason.get_or_insert(reason.into_owned());
        }
        Ok(())
    }

    fn open_reasoning(&mut self, field: &'static str) {
        let open = self.reasoning.get_or_insert_default();
        if open.field.is_empty() {
            open.field = field;
        }
    }

    fn keep_details(&mut self, details: &str) {
        let elements = list_elements(details);
        if elements.is_empty() {
            return;
        }
        let open = self.reasoning.get_or_insert_default();
        if !open.details.is_empty() {
            open.details.push(',');
        }
        open.details.push_str(elements);
    }

    fn close_reasoning(&mut self, events: &mut Vec<Event>) {
        let Some(open) = self.reasoning.take() else {
            return;
        };
        let mut native = Native::new(CHAT);
        if !open.field.is_empty() {
            native.push("field", Json::string(open.field));
        } else {
            // Details without text still need a part to attach to.
            events.push(Event::Reasoning(String::new()));
        }
        if let Ok(details) = Json::parse(format!("[{}]", open.details))
            && !open.details.is_empty()
        {
            native.push("reasoning_details", details);
        }
        events.push(Event::EndPart(native.into_option()));
    }

    /// Emits the final events.
    fn complete(&mut self, events: &mut Vec<Event>) {
        self.done = true;
        self.close_reasoning(events);
        self.calls.end_all(events);
        let reason = self.finish_reason.take().unwrap_or_default();
        let reason = finish::read_finish_reason(&reason, !self.calls.is_empty(), self.refused);
        events.push(Event::Finish(reason));
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<()> {
        if self.done {
            return Ok(());
        }
        // `[DONE]` may be missing, a `finish_reason` may not.
        if self.finish_reason.is_some() {
            self.complete(events);
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Truncated,
            "the stream ended before a finish_reason",
        ))
    }
}
