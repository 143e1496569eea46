//! Reads streamed responses.

use std::borrow::Cow;
use std::sync::LazyLock;

use majordomo_llm::{Error, ErrorKind, Event, Part, Result};
use memchr::memmem;

use super::read_message::read_output_item_str;
use super::response::ResponsesResponseBody;
use super::stream_event::ResponsesStreamEvent;
use super::stream_items::{ReasoningSource, ResponsesStreamItems, outcome};
use crate::StreamReader;
use crate::failure::ErrorBody;
use crate::frame_content::{FrameContent, first_text};
use crate::framing::{SseDecoder, SseFrame, event_type};
use crate::json::{self, ReadError};
use crate::splice;

/// Converts the dialect's events into the contract's.
#[derive(Default)]
pub(super) struct ResponsesStreamReader {
    sse: SseDecoder,
    state: ResponsesStreamState,
}

impl StreamReader for ResponsesStreamReader {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.sse.push(bytes, |frame| state.frame(frame, events))
    }

    fn tap(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        state.tapped = true;
        self.sse.push(bytes, |frame| match frame {
            SseFrame::Event { name, data } if !tap_needs(name, data) => {
                state.observe(name, data);
                Ok(())
            }
            frame => state.frame(frame, events),
        })
    }

    fn content<'a>(&self, frame: &'a [u8]) -> FrameContent<'a> {
        find_content(frame)
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.sse.finish(|frame| state.frame(frame, events))?;
        state.end()
    }
}

/// Whether a tap must parse an event, because it ends the stream. As in a full
/// read, the `type` in the data takes precedence, and a whole response also
/// ends the stream.
fn tap_needs(name: &str, data: &[u8]) -> bool {
    let ends = |kind: &[u8]| {
        matches!(
            kind,
            b"response.completed" | b"response.incomplete" | b"response.failed" | b"error"
        )
    };
    let contains = |word: &[u8]| memmem::find(data, word).is_some();
    match event_type(data).filter(|kind| !kind.is_empty()) {
        Some(kind) => ends(kind) || name == "error",
        None => {
            ends(name.as_bytes())
                || data.first() != Some(&b'{')
                || contains(b"response.completed")
                || contains(b"response.incomplete")
                || contains(b"response.failed")
                || contains(b"\"error\"")
                || contains(b"\"object\"")
        }
    }
}

static DELTA_KEY: LazyLock<[memmem::Finder<'static>; 1]> =
    LazyLock::new(|| ["\"delta\""].map(memmem::Finder::new));

static CALL_KEYS: LazyLock<[memmem::Finder<'static>; 1]> =
    LazyLock::new(|| ["\"name\""].map(memmem::Finder::new));

/// Finds the content of an event: deltas, and items that are calls.
fn find_content(frame: &[u8]) -> FrameContent<'_> {
    if let Some(text) = first_text(frame, &*DELTA_KEY) {
        return FrameContent::Delta(text);
    }
    let contains = |word: &[u8]| memmem::find(frame, word).is_some();
    let begins = contains(b"response.output_item.added") && contains(b"_call\"");
    match begins {
        true => FrameContent::Call(first_text(frame, &*CALL_KEYS).unwrap_or_default()),
        false => FrameContent::Nothing,
    }
}

#[derive(Default)]
struct ResponsesStreamState {
    started: bool,
    id: Option<String>,
    items: ResponsesStreamItems,
    called: bool,
    refused: bool,
    /// Whether some events were only tapped, so that items are incomplete.
    tapped: bool,
    done: bool,
}

impl ResponsesStreamState {
    fn frame(&mut self, frame: SseFrame<'_>, events: &mut Vec<Event>) -> Result<()> {
        let (name, data) = match frame {
            SseFrame::Event { name, data } => (name, data),
            // A server that omits the framing, most likely to report an error.
            SseFrame::Bare(line) if line.starts_with(b"{") => ("", line),
            SseFrame::Bare(_) => return Ok(()),
        };
        let data = data.trim_ascii();
        // Sent by some servers, but not a terminator in this dialect.
        if self.done || data.is_empty() || data == b"[DONE]" {
            return Ok(());
        }
        let mut event =
            json::read(data, ResponsesStreamEvent::read).map_err(ReadError::in_response)?;
        let kind = event.kind.take().unwrap_or_default();
        if kind == "error" || name == "error" || (kind.is_empty() && event.has_error) {
            return Err(ErrorBody::of(data).into_error(None));
        }
        if kind.is_empty() && event.is_whole_response {
            let text = std::str::from_utf8(data).unwrap_or_default();
            return self.complete(text, events);
        }
        self.event(&kind, event, events)
    }

    fn event(
        &mut self,
        kind: &str,
        event: ResponsesStreamEvent<'_>,
        events: &mut Vec<Event>,
    ) -> Result<()> {
        match (kind, event.response) {
            ("response.completed" | "response.incomplete" | "response.failed", Some(response)) => {
                return self.complete(response, events);
            }
            ("response.created", Some(response)) => return self.restart(response, events),
            ("response.created" | "response.in_progress" | "response.queued", response) => {
                return self.start(response, events);
            }
            _ => self.start(None, events)?,
        }
        match kind {
            "response.output_text.delta" => self.items.text(event, Event::Text, events),
            "response.refusal.delta" => {
                self.refused = true;
                self.items.text(event, Event::Refusal, events);
            }
            "response.reasoning_summary_text.delta" => {
                self.items
                    .reasoning(event, ReasoningSource::Summary, events);
            }
            "response.reasoning_text.delta" => {
                self.items
                    .reasoning(event, ReasoningSource::Content, events);
            }
            "response.function_call_arguments.delta" => self.items.arguments(event, events),
            "response.custom_tool_call_input.delta" => self.items.input(event, events),
            "response.output_item.added" => {
                let (event, parts) = read_item(event)?;
                self.items.added(&event, parts, events);
            }
            "response.output_item.done" => {
                let (event, parts) = read_item(event)?;
                let (called, refused) = outcome(&parts);
                self.called |= called;
                self.refused |= refused;
                self.items.done(&event, parts, events);
            }
            _ => {}
        }
        Ok(())
    }

    /// Records what a tapped event implies for the finish reason.
    fn observe(&mut self, name: &str, data: &[u8]) {
        let contains = |word: &[u8]| memmem::find(data, word).is_some();
        let event_kind = event_type(data).unwrap_or(name.as_bytes());
        let is = |kind: &[u8]| event_kind == kind || (event_kind.is_empty() && contains(kind));
        if is(b"response.output_item.done") {
            self.called |= contains(b"\"function_call\"") || contains(b"\"custom_tool_call\"");
        }
        self.refused |= event_kind == b"response.refusal.done";
    }

    /// Starts the response. A second one with another id replaces the first, which
    /// a proxy could not finish.
    fn restart(&mut self, response: &str, events: &mut Vec<Event>) -> Result<()> {
        if self.started && self.id.is_some() {
            let id = read_fields(response)?.id;
            if id.is_some() && id != self.id {
                *self = Self {
                    tapped: self.tapped,
                    ..Self::default()
                };
            }
        }
        self.start(Some(response), events)
    }

    fn start(&mut self, response: Option<&str>, events: &mut Vec<Event>) -> Result<()> {
        if self.started {
            return Ok(());
        }
        self.started = true;
        let fields = response.map(read_fields).transpose()?.unwrap_or_default();
        self.id.clone_from(&fields.id);
        events.push(Event::Start {
            id: fields.id,
            model: fields.model,
        });
        Ok(())
    }

    /// Ends the stream at its terminator, which may report a failure.
    fn complete(&mut self, response: &str, events: &mut Vec<Event>) -> Result<()> {
        self.start(Some(response), events)?;
        let mut fields = read_fields(response)?;
        if let Some(error) = fields.error() {
            // The usage reported by a failed response counts.
            events.extend(fields.usage.map(Event::Usage));
            return Err(error);
        }
        self.done = true;
        let finish = fields.finish(self.called, self.refused);
        if !self.tapped {
            self.items
                .complete(std::mem::take(&mut fields.items), events);
        }
        if let Some(usage) = fields.usage {
            events.push(Event::Usage(usage));
        }
        events.push(Event::Finish(finish));
        Ok(())
    }

    fn end(&self) -> Result<()> {
        if self.done {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Truncated,
            "the stream ended before `response.completed`",
        ))
    }
}

fn read_fields(response: &str) -> Result<ResponsesResponseBody<'_>> {
    json::read_str(response, ResponsesResponseBody::read).map_err(ReadError::in_response)
}

/// Reads the item of an event. The item's id is used if the event has none.
fn read_item(mut event: ResponsesStreamEvent<'_>) -> Result<(ResponsesStreamEvent<'_>, Vec<Part>)> {
    let Some(item) = event.item else {
        return Ok((event, Vec::new()));
    };
    let parts = read_output_item_str(item).map_err(ReadError::in_response)?;
    if event.output_index.is_none() && event.item_id.is_none() {
        let id = splice::member(item, "id").map(|id| id.trim_matches('"'));
        event.item_id = id.map(Cow::Borrowed);
    }
    Ok((event, parts))
}
