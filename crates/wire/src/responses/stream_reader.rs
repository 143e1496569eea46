//! Streamed answers, read.

use std::borrow::Cow;

use majordomo_llm::{Error, ErrorKind, Event, Part, Result};
use memchr::memmem;

use super::read_message::read_said_text;
use super::response::Answer;
use super::stream_event::StreamEvent;
use super::stream_items::{Source, StreamItems, outcome};
use crate::StreamReader;
use crate::failure::ErrorBody;
use crate::framing::{Frame, SseDecoder, event_type};
use crate::json::{self, ReadError};
use crate::splice;

/// Turns server events into events.
#[derive(Default)]
pub(super) struct ResponsesReader {
    sse: SseDecoder,
    state: State,
}

impl StreamReader for ResponsesReader {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.sse.push(bytes, |frame| state.frame(frame, events))
    }

    fn tap(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        state.tapped = true;
        self.sse.push(bytes, |frame| match frame {
            Frame::Event { name, data } if !matters(name, data) => {
                state.glance(name, data);
                Ok(())
            }
            frame => state.frame(frame, events),
        })
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.sse.finish(|frame| state.frame(frame, events))?;
        state.end()
    }
}

/// Whether a tap must look into an event: does it end the stream? The data's
/// word counts, as it does when it is read, and a whole answer ends it, too.
fn matters(name: &str, data: &[u8]) -> bool {
    let ends = |kind: &[u8]| {
        matches!(
            kind,
            b"response.completed" | b"response.incomplete" | b"response.failed" | b"error"
        )
    };
    let says = |word: &[u8]| memmem::find(data, word).is_some();
    match event_type(data).filter(|kind| !kind.is_empty()) {
        Some(kind) => ends(kind) || name == "error",
        None => {
            ends(name.as_bytes())
                || data.first() != Some(&b'{')
                || says(b"response.completed")
                || says(b"response.incomplete")
                || says(b"response.failed")
                || says(b"\"error\"")
                || says(b"\"object\"")
        }
    }
}

#[derive(Default)]
struct State {
    started: bool,
    items: StreamItems,
    called: bool,
    refused: bool,
    /// Whether some events were only glanced at, so that items are not complete.
    tapped: bool,
    done: bool,
}

impl State {
    fn frame(&mut self, frame: Frame<'_>, events: &mut Vec<Event>) -> Result<()> {
        let (name, data) = match frame {
            Frame::Event { name, data } => (name, data),
            // A server that forgot the framing, most likely to tell an error.
            Frame::Bare(line) if line.starts_with(b"{") => ("", line),
            Frame::Bare(_) => return Ok(()),
        };
        let data = data.trim_ascii();
        // What some servers say at the end is no terminator here.
        if self.done || data.is_empty() || data == b"[DONE]" {
            return Ok(());
        }
        let mut event = json::read(data, StreamEvent::read).map_err(ReadError::in_answer)?;
        let kind = event.kind.take().unwrap_or_default();
        if kind == "error" || name == "error" || (kind.is_empty() && event.has_error) {
            return Err(ErrorBody::of(data).into_error(None));
        }
        if kind.is_empty() && event.is_answer {
            let text = std::str::from_utf8(data).unwrap_or_default();
            return self.complete(text, events);
        }
        self.event(&kind, event, events)
    }

    fn event(&mut self, kind: &str, event: StreamEvent<'_>, events: &mut Vec<Event>) -> Result<()> {
        match (kind, event.response) {
            ("response.completed" | "response.incomplete" | "response.failed", Some(response)) => {
                return self.complete(response, events);
            }
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
                self.items.reasoning(event, Source::Summary, events);
            }
            "response.reasoning_text.delta" => {
                self.items.reasoning(event, Source::Content, events);
            }
            "response.function_call_arguments.delta" => self.items.arguments(event, events),
            "response.output_item.added" => {
                let (event, parts) = item(event)?;
                self.items.added(&event, parts, events);
            }
            "response.output_item.done" => {
                let (event, parts) = item(event)?;
                let (called, refused) = outcome(&parts);
                self.called |= called;
                self.refused |= refused;
                self.items.done(&event, parts, events);
            }
            _ => {}
        }
        Ok(())
    }

    /// What an event that only passes by says about the end.
    fn glance(&mut self, name: &str, data: &[u8]) {
        let says = |word: &[u8]| memmem::find(data, word).is_some();
        let told = event_type(data).unwrap_or(name.as_bytes());
        let is = |kind: &[u8]| told == kind || (told.is_empty() && says(kind));
        if is(b"response.output_item.done") {
            self.called |= says(b"\"function_call\"") || says(b"\"custom_tool_call\"");
        }
        self.refused |= told == b"response.refusal.done";
    }

    fn start(&mut self, response: Option<&str>, events: &mut Vec<Event>) -> Result<()> {
        if self.started {
            return Ok(());
        }
        self.started = true;
        let answer = response.map(answer).transpose()?.unwrap_or_default();
        events.push(Event::Start {
            id: answer.id,
            model: answer.model,
        });
        Ok(())
    }

    /// The stream said that it is complete, or that it failed.
    fn complete(&mut self, response: &str, events: &mut Vec<Event>) -> Result<()> {
        self.start(Some(response), events)?;
        let mut answer = answer(response)?;
        if let Some(error) = answer.error() {
            return Err(error);
        }
        self.done = true;
        let finish = answer.finish(self.called, self.refused);
        if !self.tapped {
            self.items
                .complete(std::mem::take(&mut answer.items), events);
        }
        if let Some(usage) = answer.usage {
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
            "the stream ended before the model said that it was done",
        ))
    }
}

fn answer(response: &str) -> Result<Answer<'_>> {
    json::read_str(response, Answer::read).map_err(ReadError::in_answer)
}

/// What an item says. Its id is the event's own where that has no other.
fn item(mut event: StreamEvent<'_>) -> Result<(StreamEvent<'_>, Vec<Part>)> {
    let Some(item) = event.item else {
        return Ok((event, Vec::new()));
    };
    let parts = read_said_text(item).map_err(ReadError::in_answer)?;
    if event.output_index.is_none() && event.item_id.is_none() {
        let id = splice::member(item, "id").map(|id| id.trim_matches('"'));
        event.item_id = id.map(Cow::Borrowed);
    }
    Ok((event, parts))
}
