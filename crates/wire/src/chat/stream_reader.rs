//! Streamed answers, read.

use std::borrow::Cow;

use majordomo_llm::{Error, ErrorKind, Event, Json, Native, Result, Usage};
use memchr::memmem;

use super::read_message::thinking;
use super::tool_calls::arguments;
use super::{CHAT, finish, usage};
use crate::StreamReader;
use crate::failure::ErrorBody;
use crate::framing::{Frame, SseDecoder};
use crate::json::{self, Cursor, Kind, Read, ReadError};

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
            Frame::Event { data, .. } if !matters(data) => Ok(()),
            frame => state.frame(frame, events),
        })
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let state = &mut self.state;
        self.sse.finish(|frame| state.frame(frame, events))?;
        state.end(events)
    }
}

/// Whether a tap must look into a chunk. Most chunks name both keys with null.
fn matters(data: &[u8]) -> bool {
    let says = |key: &[u8]| {
        memmem::find(data, key).is_some_and(|at| {
            let value = data[at + key.len()..].trim_ascii_start();
            let value = value.strip_prefix(b":").unwrap_or(value).trim_ascii_start();
            !value.starts_with(b"null")
        })
    };
    data.first() != Some(&b'{')
        || says(b"\"finish_reason\"")
        || says(b"\"usage\"")
        || says(b"\"error\"")
}

#[derive(Default)]
struct State {
    started: bool,
    /// Which of several choices is read: the first one that comes.
    choice: Option<u64>,
    calls: Vec<Call>,
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

/// One tool call; its place in the list is its index among the events.
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Whether its start was told; that waits for a name.
    told: bool,
    ended: bool,
    extra: Option<Box<Native>>,
}

#[derive(Default)]
struct Chunk<'a> {
    id: Option<Cow<'a, str>>,
    model: Option<Cow<'a, str>>,
    delta: Delta<'a>,
    finish: Option<Cow<'a, str>>,
    usage: Option<Usage>,
    error: Option<&'a str>,
}

#[derive(Default)]
struct Delta<'a> {
    content: Vec<Piece<'a>>,
    reasoning: Option<(&'static str, Cow<'a, str>)>,
    details: Option<&'a str>,
    refusal: Option<Cow<'a, str>>,
    calls: Vec<CallDelta<'a>>,
}

/// A piece of content: text, or Mistral's thinking in the same list.
enum Piece<'a> {
    Text(Cow<'a, str>),
    Thinking(String),
}

#[derive(Default)]
struct CallDelta<'a> {
    index: Option<u64>,
    id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    arguments: String,
    extra: Option<Box<Native>>,
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
        .map_err(ReadError::in_answer)?;
        match chunk.error {
            Some(error) => Err(ErrorBody::inside(error).into_error(None)),
            None if name == "error" => Err(ErrorBody::of(data).into_error(None)),
            None => {
                self.chunk(chunk, events);
                Ok(())
            }
        }
    }

    fn chunk(&mut self, chunk: Chunk<'_>, events: &mut Vec<Event>) {
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
            self.call(call, events);
        }
        self.usage = chunk.usage.or(self.usage);
        if let Some(word) = chunk.finish {
            self.finish.get_or_insert(word.into_owned());
        }
    }

    fn open_reasoning(&mut self, field: &'static str) {
        let open = self.reasoning.get_or_insert_default();
        if open.field.is_empty() {
            open.field = field;
        }
    }

    fn keep_details(&mut self, details: &str) {
        let inner = details.trim_start_matches('[').trim_end_matches(']').trim();
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

    /// Finds the call that a fragment belongs to, or begins a new one.
    fn call(&mut self, delta: CallDelta<'_>, events: &mut Vec<Event>) {
        let id = delta.id.as_deref().unwrap_or_default();
        let name = delta.name.as_deref().unwrap_or_default();
        let at = self.find_call(delta.index, id, name).unwrap_or_else(|| {
            self.end_complete_calls(events);
            self.calls.push(Call {
                index: delta.index,
                id: id.to_owned(),
                name: name.to_owned(),
                arguments: String::new(),
                told: false,
                ended: false,
                extra: None,
            });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if call.name.is_empty() {
            call.name.push_str(name);
        }
        if call.id.is_empty() {
            call.id.push_str(id);
        }
        call.extra = call.extra.take().or(delta.extra);
        call.tell(at, events);
        call.extend(at, delta.arguments, events);
    }

    fn find_call(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let last_where = |f: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(f);
        match index {
            // A new id under an old index is a new call.
            Some(_) => last_where(&|call| call.index == index).filter(|at| {
                id.is_empty() || self.calls[*at].id.is_empty() || self.calls[*at].id == id
            }),
            None if !id.is_empty() => last_where(&|call| call.id == id),
            None if !name.is_empty() => None,
            None => self.calls.len().checked_sub(1),
        }
    }

    /// Calls before a new one are over if what they have is a whole value;
    /// others stay open, since fragments may interleave.
    fn end_complete_calls(&mut self, events: &mut Vec<Event>) {
        for (at, call) in self.calls.iter_mut().enumerate() {
            if !call.ended && call.told && json::is_complete(&call.arguments) {
                call.ended = true;
                events.push(Event::ToolCallEnd { index: at });
            }
        }
    }

    /// The stream said that it is complete.
    fn complete(&mut self, events: &mut Vec<Event>) {
        self.done = true;
        self.close_reasoning(events);
        for (at, call) in self.calls.iter_mut().enumerate() {
            call.told |= call.name.is_empty() && call.arguments.is_empty();
            if !call.told {
                call.force(at, events);
            }
            if !call.ended {
                call.ended = true;
                events.push(Event::ToolCallEnd { index: at });
            }
        }
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

impl Call {
    fn tell(&mut self, at: usize, events: &mut Vec<Event>) {
        if !self.told && !self.name.is_empty() {
            self.force(at, events);
        }
    }

    fn force(&mut self, at: usize, events: &mut Vec<Event>) {
        self.told = true;
        events.push(Event::ToolCallStart {
            index: at,
            id: Some(self.id.clone()).filter(|id| !id.is_empty()),
            name: self.name.clone(),
            native: self.extra.take(),
        });
        if !self.arguments.is_empty() {
            events.push(Event::ToolCallArguments {
                index: at,
                fragment: self.arguments.clone(),
            });
        }
    }

    fn extend(&mut self, at: usize, fragment: String, events: &mut Vec<Event>) {
        // Some servers repeat the whole arguments at the end.
        let repeated = fragment == self.arguments && json::is_complete(&fragment);
        if fragment.is_empty() || self.ended || repeated {
            return;
        }
        self.arguments.push_str(&fragment);
        if self.told {
            events.push(Event::ToolCallArguments {
                index: at,
                fragment,
            });
        }
    }
}

impl<'a> Chunk<'a> {
    fn read(&mut self, key: &str, cursor: &mut Cursor<'a>, wanted: &mut Option<u64>) -> Read<()> {
        match (key, cursor.peek()?) {
            ("id", Kind::String) => self.id = Some(cursor.string()?),
            ("model", Kind::String) => self.model = Some(cursor.string()?),
            ("usage", Kind::Object) => self.usage = usage::read(cursor)?,
            ("x_groq", Kind::Object) => cursor.loose_object(|key, cursor| {
                if key == "usage" {
                    self.usage = usage::read(cursor)?.or(self.usage);
                }
                Ok(())
            })?,
            ("error", Kind::Object | Kind::String) => self.error = Some(cursor.raw()?),
            ("choices", Kind::Array) => cursor.array(|cursor| {
                if cursor.peek()? == Kind::Object {
                    self.choice(cursor, wanted)?;
                }
                Ok(())
            })?,
            _ => {}
        }
        Ok(())
    }

    fn choice(&mut self, cursor: &mut Cursor<'a>, wanted: &mut Option<u64>) -> Read<()> {
        let mut index = 0;
        let mut delta = Delta::default();
        let mut finish = None;
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("index", Kind::Number) => index = cursor.count()?.unwrap_or_default(),
                ("delta", Kind::Object) => {
                    cursor.loose_object(|key, cursor| delta.read(key, cursor))?;
                }
                ("finish_reason", Kind::String) => finish = Some(cursor.string()?),
                _ => {}
            }
            Ok(())
        })?;
        if *wanted.get_or_insert(index) == index {
            self.delta = delta;
            self.finish = finish;
        }
        Ok(())
    }
}

impl<'a> Delta<'a> {
    fn is_empty(&self) -> bool {
        self.content.is_empty() && self.reasoning.is_none() && self.calls.is_empty()
    }

    fn read(&mut self, key: &str, cursor: &mut Cursor<'a>) -> Read<()> {
        match (key, cursor.peek()?) {
            ("content", Kind::String) => self.content.push(Piece::Text(cursor.string()?)),
            ("content", Kind::Array) => cursor.array(|cursor| self.piece(cursor))?,
            ("reasoning_content", Kind::String) => {
                self.reasoning = Some(("reasoning_content", cursor.string()?));
            }
            ("reasoning", Kind::String) if self.reasoning.is_none() => {
                self.reasoning = Some(("reasoning", cursor.string()?));
            }
            ("reasoning_details", Kind::Array) => self.details = Some(cursor.raw()?),
            ("refusal", Kind::String) => self.refusal = Some(cursor.string()?),
            ("tool_calls", Kind::Array) => cursor.array(|cursor| {
                if cursor.peek()? == Kind::Object {
                    self.calls.push(CallDelta::read(cursor)?);
                }
                Ok(())
            })?,
            ("function_call", Kind::Object) => {
                let mut call = CallDelta::default();
                call.function(cursor)?;
                self.calls.push(call);
            }
            _ => {}
        }
        Ok(())
    }

    fn piece(&mut self, cursor: &mut Cursor<'a>) -> Read<()> {
        if cursor.peek()? != Kind::Object {
            return Ok(());
        }
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("text", Kind::String) => self.content.push(Piece::Text(cursor.string()?)),
                ("thinking", Kind::String | Kind::Array) => {
                    self.content.push(Piece::Thinking(thinking(cursor)?));
                }
                _ => {}
            }
            Ok(())
        })
    }
}

impl<'a> CallDelta<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Read<Self> {
        let mut call = Self::default();
        let mut rest = json::Rest::default();
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("index", Kind::Number) => call.index = cursor.count()?,
                ("id", Kind::String) => call.id = Some(cursor.string()?),
                ("function", Kind::Object) => call.function(cursor)?,
                ("extra_content", Kind::Object) => rest.take(key.as_ref(), cursor)?,
                _ => {}
            }
            Ok(())
        })?;
        call.extra = rest.into_native(CHAT);
        Ok(call)
    }

    fn function(&mut self, cursor: &mut Cursor<'a>) -> Read<()> {
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("name", Kind::String) => self.name = Some(cursor.string()?),
                ("arguments", _) => self.arguments = arguments(cursor)?,
                _ => {}
            }
            Ok(())
        })
    }
}
