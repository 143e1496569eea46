//! Reads streamed responses.

use std::sync::LazyLock;

use majordomo_llm::{Error, ErrorKind, Event, Part, Result};
use memchr::memmem;

use super::finish;
use super::response::MessagesResponseBody;
use super::stream_blocks::MessagesOpenBlocks;
use super::stream_event::{MessagesDelta, MessagesStreamEvent};
use super::usage::MessagesUsageCounts;
use crate::StreamReader;
use crate::failure::ErrorBody;
use crate::frame_content::{FrameContent, first_text};
use crate::framing::{SseDecoder, SseFrame, event_type};
use crate::json::{self, ReadError};

/// Converts the dialect's events into the contract's.
#[derive(Default)]
pub(super) struct MessagesStreamReader {
    sse: SseDecoder,
    state: MessagesStreamState,
}

impl StreamReader for MessagesStreamReader {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.sse.push(bytes, |frame| state.frame(frame, events))
    }

    fn tap(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.sse.push(bytes, |frame| match frame {
            SseFrame::Event { name, data } if !tap_needs(name, data) => Ok(()),
            frame => state.frame(frame, events),
        })
    }

    fn content<'a>(&self, frame: &'a [u8]) -> FrameContent<'a> {
        find_content(frame)
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.sse.finish(|frame| state.frame(frame, events))?;
        if state.done {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Truncated,
            "the stream ended before `message_stop`",
        ))
    }
}

/// Whether a tap must parse an event; content blocks are skipped. As in a full
/// read, the `type` in the data takes precedence over the event name.
fn tap_needs(name: &str, data: &[u8]) -> bool {
    let is_block = |kind: &[u8]| kind.starts_with(b"content_block_") || kind == b"ping";
    match event_type(data) {
        Some(kind) => !is_block(kind),
        None if !is_block(name.as_bytes()) => {
            let start = &data[..data.len().min(64)];
            !name.is_empty() || memmem::find(start, b"\"content_block_").is_none()
        }
        None => memmem::find(data, b"\"message_").is_some(),
    }
}

static CONTENT_KEYS: LazyLock<[memmem::Finder<'static>; 3]> =
    LazyLock::new(|| ["\"text\"", "\"partial_json\"", "\"thinking\""].map(memmem::Finder::new));

static CALL_KEYS: LazyLock<[memmem::Finder<'static>; 1]> =
    LazyLock::new(|| ["\"name\""].map(memmem::Finder::new));

/// Finds the content of an event: deltas, and blocks that are calls.
fn find_content(frame: &[u8]) -> FrameContent<'_> {
    let contains = |word: &[u8]| memmem::find(frame, word).is_some();
    if contains(b"\"content_block_delta\"") {
        return first_text(frame, &*CONTENT_KEYS)
            .map_or(FrameContent::Nothing, FrameContent::Delta);
    }
    if contains(b"\"content_block_start\"") && contains(b"tool_use\"") {
        return FrameContent::Call(first_text(frame, &*CALL_KEYS).unwrap_or_default());
    }
    FrameContent::Nothing
}

#[derive(Default)]
struct MessagesStreamState {
    started: bool,
    id: Option<String>,
    blocks: MessagesOpenBlocks,
    usage: MessagesUsageCounts,
    stop_reason: Option<String>,
    stop_sequence: Option<String>,
    refusal: Option<Part>,
    done: bool,
}

impl MessagesStreamState {
    fn frame(&mut self, frame: SseFrame<'_>, events: &mut Vec<Event>) -> Result<()> {
        let (name, data) = match frame {
            SseFrame::Event { name, data } => (name, data),
            // A server that omits the framing, most likely to report an error.
            SseFrame::Bare(line) => ("", line),
        };
        // Anything but an object is not an event: `[DONE]`, a proxy's comment.
        if self.done || !data.trim_ascii_start().starts_with(b"{") {
            return Ok(());
        }
        let mut event = MessagesStreamEvent::default();
        json::read(data, |cursor| {
            cursor.loose_object(|key, cursor| event.read_field(key, cursor))
        })
        .map_err(ReadError::in_response)?;
        let kind = event.kind.as_deref().unwrap_or(name);
        match kind {
            "message_start" => self.start(event.message, events),
            "content_block_start" => {
                if let Some((part, raw)) = event.block {
                    self.blocks.start(event.index, part, raw, events);
                }
            }
            "content_block_delta" => self.blocks.delta(event.index, event.delta, events),
            "content_block_stop" => self.blocks.stop(event.index, events),
            "message_delta" => {
                self.usage.overlay(event.usage);
                self.stop(event.delta);
            }
            "message_stop" => self.complete(events),
            "error" => return Err(ErrorBody::of(data).into_error(None)),
            // A server that does not stream sends the whole message.
            "message" => {
                let mut whole = MessagesResponseBody::default();
                json::read(data, |cursor| {
                    cursor.loose_object(|key, cursor| whole.read_field(key, cursor))
                })
                .map_err(ReadError::in_response)?;
                self.start(whole, events);
                self.complete(events);
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads the message's metadata, or all of it if the model paused for a
    /// tool.
    ///
    /// A proxy that loses its upstream may append a second message to the first,
    /// unfinished one: the second one counts. Others send the same start twice.
    fn start(&mut self, message: MessagesResponseBody<'_>, events: &mut Vec<Event>) {
        let id = message.id.filter(|id| !id.is_empty());
        if self.started {
            let repeated = match &id {
                Some(_) => id == self.id,
                None => !self.blocks.have_begun(),
            };
            if repeated {
                return;
            }
            *self = Self::default();
        }
        self.started = true;
        self.id.clone_from(&id);
        self.usage.overlay(message.usage);
        events.push(Event::Start {
            id,
            model: message.model.filter(|model| !model.is_empty()),
        });
        if !self.usage.is_empty() {
            events.push(Event::Usage(self.usage.usage()));
        }
        for part in message.parts {
            self.blocks.push_whole(part, events);
        }
        self.stop_reason = message.stop_reason;
        self.stop_sequence = message.stop_sequence;
        self.refusal = message.stop_details.and_then(finish::read_stop_details);
    }

    /// Records why the model stopped; the message has not ended yet.
    fn stop(&mut self, delta: MessagesDelta<'_>) {
        if let Some(word) = delta.stop_reason {
            self.stop_reason = Some(word.into_owned());
        }
        if let Some(sequence) = delta.stop_sequence {
            self.stop_sequence = Some(sequence.into_owned());
        }
        if let Some(details) = delta.stop_details {
            self.refusal = finish::read_stop_details(details);
        }
    }

    /// Ends the stream at its terminator.
    fn complete(&mut self, events: &mut Vec<Event>) {
        self.done = true;
        self.blocks.end_all(events);
        events.extend(self.refusal.take().map(Event::Part));
        if !self.usage.is_empty() {
            events.push(Event::Usage(self.usage.usage()));
        }
        let word = self.stop_reason.take().unwrap_or_default();
        let sequence = self.stop_sequence.take();
        let called = self.blocks.have_calls();
        events.push(Event::Finish(finish::read_finish_reason(
            &word, sequence, called,
        )));
    }
}
