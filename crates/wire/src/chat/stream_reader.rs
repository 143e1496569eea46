//! Streamed answers, read.

use std::borrow::Cow;
use std::sync::LazyLock;

use majordomo_llm::{Error, ErrorKind, Event, Json, Native, Result, Usage};
use memchr::memmem;

use super::stream_calls::StreamCalls;
use super::stream_chunk::{Chunk, Piece};
use super::write_part::inner_of_list;
use super::{CHAT, finish};
use crate::StreamReader;
use crate::failure::ErrorBody;
use crate::framing::{SseDecoder, SseFrame};
use crate::json::{self, ReadError};

/// Turns chunks into events.
#[derive(Default)]
pub(super) struct ChatReader {
    sse: SseDecoder,
    state: State,
}

impl StreamReader for ChatReader {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.sse.push(bytes, |frame| state.frame(frame, events))
    }

    fn tap(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.sse.push(bytes, |frame| match frame {
            SseFrame::Event { data, .. } if !matters(data) => Ok(()),
            frame => state.frame(frame, events),
        })
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.sse.finish(|frame| state.frame(frame, events))?;
        state.end(events)
    }
}

/// What a chunk that a tap must look into says. To prepare such a search costs
/// more than the search.
static TELLING: LazyLock<[memmem::Finder<'static>; 3]> =
    LazyLock::new(|| ["\"finish_reason\"", "\"usage\"", "\"error\""].map(memmem::Finder::new));

/// Whether a tap must look into a chunk. Most chunks name the first two with null.
fn matters(data: &[u8]) -> bool {
    let says = |key: &memmem::Finder<'_>| {
        key.find(data).is_some_and(|at| {
            let value = data[at + key.needle().len()..].trim_ascii_start();
            let value = value.strip_prefix(b":").unwrap_or(value).trim_ascii_start();
            !value.starts_with(b"null")
        })
    };
    data.first() != Some(&b'{') || TELLING.iter().any(says)
}

#[derive(Default)]
struct State {
    started: bool,
    /// Which of several choices is read: the first one that comes.
    choice: Option<u64>,
    calls: StreamCalls,
    /// State of the open reasoning part.
    reasoning: Option<OpenReasoning>,
    refused: bool,
    usage: Option<Usage>,
    finish: Option<String>,
    done: bool,
}

#[derive(Default)]
struct OpenReasoning {
    field: &'static str,
    /// The elements of `reasoning_details`, joined by commas.
    details: String,
}

impl State {
    fn frame(&mut self, frame: SseFrame<'_>, events: &mut Vec<Event>) -> Result<()> {
        let (name, data) = match frame {
            SseFrame::Event { name, data } => (name, data),
            // A server that forgot the framing, most likely to tell an error.
            SseFrame::Bare(line) if line.starts_with(b"{") => ("", line),
            SseFrame::Bare(_) => return Ok(()),
        };
        let data = data.trim_ascii();
        if self.done || data.is_empty() {
            return Ok(());
        }
        if data == b"[DONE]" {
            self.finish.get_or_insert_default();
            self.complete(events);
            return Ok(());
        }
        let mut chunk = Chunk::default();
        json::read(data, |cursor| {
            cursor.loose_object(|key, cursor| chunk.read(key, cursor, &mut self.choice))
        })
        .map_err(ReadError::in_response)?;
        match chunk.error {
            Some(error) => Err(ErrorBody::inside(error).into_error(None)),
            None if name == "error" => Err(ErrorBody::of(data).into_error(None)),
            None => self.chunk(chunk, events),
        }
    }

    fn chunk(&mut self, chunk: Chunk<'_>, events: &mut Vec<Event>) -> Result<()> {
        let delta = chunk.delta;
        if !self.started {
            let known = |text: Option<Cow<'_, str>>| {
                text.filter(|text| !text.is_empty()).map(Cow::into_owned)
            };
            let (id, model) = (known(chunk.id), known(chunk.model));
            // Some servers send an empty chunk first.
            if id.is_some() || model.is_some() || !delta.is_empty() {
                self.started = true;
                events.push(Event::Start { id, model });
            }
        }
        if let Some((field, text)) = delta.reasoning.filter(|(_, text)| !text.is_empty()) {
            self.open_reasoning(field);
            events.push(Event::Reasoning(text.into_owned()));
        }
        if let Some(details) = delta.details {
            self.keep_details(details);
        }
        for piece in delta.content {
            match piece {
                Piece::Thinking(text) if !text.is_empty() => {
                    self.open_reasoning("thinking");
                    events.push(Event::Reasoning(text));
                }
                Piece::Text(text) if !text.is_empty() => {
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
            self.calls.take(call, events)?;
        }
        self.usage = chunk.usage.or(self.usage);
        if let Some(word) = chunk.finish {
            self.finish.get_or_insert(word.into_owned());
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
        let inner = inner_of_list(details);
        if inner.is_empty() {
            return;
        }
        let open = self.reasoning.get_or_insert_default();
        if !open.details.is_empty() {
            open.details.push(',');
        }
        open.details.push_str(inner);
    }

    fn close_reasoning(&mut self, events: &mut Vec<Event>) {
        let Some(open) = self.reasoning.take() else {
            return;
        };
        let mut native = Native::new(CHAT);
        if !open.field.is_empty() {
            native.push("field", Json::string(open.field));
        } else {
            // State without text still needs a part to hang on.
            events.push(Event::Reasoning(String::new()));
        }
        if let Ok(details) = Json::parse(format!("[{}]", open.details))
            && !open.details.is_empty()
        {
            native.push("reasoning_details", details);
        }
        events.push(Event::EndPart(native.into_option()));
    }

    /// The stream said that it is complete.
    fn complete(&mut self, events: &mut Vec<Event>) {
        self.done = true;
        self.close_reasoning(events);
        self.calls.end_all(events);
        if let Some(usage) = self.usage {
            events.push(Event::Usage(usage));
        }
        let word = self.finish.take().unwrap_or_default();
        let reason = finish::read(&word, !self.calls.is_empty(), self.refused);
        events.push(Event::Finish(reason));
    }

    fn end(&mut self, events: &mut Vec<Event>) -> Result<()> {
        if self.done {
            return Ok(());
        }
        // `[DONE]` may be missing; a reason to stop may not.
        if self.finish.is_some() {
            self.complete(events);
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Truncated,
            "the stream ended before the model said that it was done",
        ))
    }
}
