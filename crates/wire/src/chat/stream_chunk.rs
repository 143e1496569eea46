//! One chunk of a stream, parsed.

use std::borrow::Cow;

use majordomo_llm::{Native, Usage};

use super::read_message::thinking;
use super::tool_calls::arguments;
use super::{CHAT, usage};
use crate::json::{Cursor, JsonKind, ReadResult, Rest};

/// What a chunk says about the choice that is read.
#[derive(Default)]
pub(super) struct Chunk<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) delta: Delta<'a>,
    pub(super) finish: Option<Cow<'a, str>>,
    pub(super) usage: Option<Usage>,
    pub(super) error: Option<&'a str>,
}

#[derive(Default)]
pub(super) struct Delta<'a> {
    pub(super) content: Vec<Piece<'a>>,
    pub(super) reasoning: Option<(&'static str, Cow<'a, str>)>,
    pub(super) details: Option<&'a str>,
    pub(super) refusal: Option<Cow<'a, str>>,
    pub(super) calls: Vec<CallDelta<'a>>,
}

/// A piece of content: text, or Mistral's thinking in the same list.
pub(super) enum Piece<'a> {
    Text(Cow<'a, str>),
    Thinking(String),
}

#[derive(Default)]
pub(super) struct CallDelta<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) arguments: String,
    pub(super) extra: Option<Box<Native>>,
}

impl<'a> Chunk<'a> {
    /// Reads one field; `wanted` is the choice that is read, once it is known.
    pub(super) fn read(
        &mut self,
        key: &str,
        cursor: &mut Cursor<'a>,
        wanted: &mut Option<u64>,
    ) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            ("id", JsonKind::String) => self.id = Some(cursor.string()?),
            ("model", JsonKind::String) => self.model = Some(cursor.string()?),
            ("usage", JsonKind::Object) => self.usage = usage::read(cursor)?,
            ("x_groq", JsonKind::Object) => cursor.loose_object(|key, cursor| {
                if key == "usage" {
                    self.usage = usage::read(cursor)?.or(self.usage);
                }
                Ok(())
            })?,
            ("error", JsonKind::Object | JsonKind::String) => self.error = Some(cursor.raw()?),
            ("choices", JsonKind::Array) => cursor.array(|cursor| {
                if cursor.peek()? == JsonKind::Object {
                    self.choice(cursor, wanted)?;
                }
                Ok(())
            })?,
            _ => {}
        }
        Ok(())
    }

    fn choice(&mut self, cursor: &mut Cursor<'a>, wanted: &mut Option<u64>) -> ReadResult<()> {
        let mut index = 0;
        let mut delta = None;
        // A server that does not stream answers with the whole message.
        let mut message = Delta::default();
        let mut finish = None;
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("index", JsonKind::Number) => index = cursor.count()?.unwrap_or_default(),
                ("delta", JsonKind::Object) => {
                    let delta = delta.get_or_insert_with(Delta::default);
                    cursor.loose_object(|key, cursor| delta.read(key, cursor))?;
                }
                ("message", JsonKind::Object) => {
                    cursor.loose_object(|key, cursor| message.read(key, cursor))?;
                }
                ("finish_reason", JsonKind::String) => finish = Some(cursor.string()?),
                _ => {}
            }
            Ok(())
        })?;
        if *wanted.get_or_insert(index) == index {
            self.delta = delta.unwrap_or(message);
            self.finish = finish;
        }
        Ok(())
    }
}

impl<'a> Delta<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.content.is_empty() && self.reasoning.is_none() && self.calls.is_empty()
    }

    fn read(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            ("content", JsonKind::String) => self.content.push(Piece::Text(cursor.string()?)),
            ("content", JsonKind::Array) => cursor.array(|cursor| self.piece(cursor))?,
            ("reasoning_content", JsonKind::String) => {
                self.reasoning = Some(("reasoning_content", cursor.string()?));
            }
            ("reasoning", JsonKind::String) if self.reasoning.is_none() => {
                self.reasoning = Some(("reasoning", cursor.string()?));
            }
            ("reasoning_details", JsonKind::Array) => self.details = Some(cursor.raw()?),
            ("refusal", JsonKind::String) => self.refusal = Some(cursor.string()?),
            ("tool_calls", JsonKind::Array) => cursor.array(|cursor| {
                if cursor.peek()? == JsonKind::Object {
                    self.calls.push(CallDelta::read(cursor)?);
                }
                Ok(())
            })?,
            ("function_call", JsonKind::Object) => {
                let mut call = CallDelta::default();
                call.function(cursor)?;
                self.calls.push(call);
            }
            _ => {}
        }
        Ok(())
    }

    fn piece(&mut self, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        if cursor.peek()? != JsonKind::Object {
            return Ok(());
        }
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("text", JsonKind::String) => self.content.push(Piece::Text(cursor.string()?)),
                ("thinking", JsonKind::String | JsonKind::Array) => {
                    self.content.push(Piece::Thinking(thinking(cursor)?));
                }
                _ => {}
            }
            Ok(())
        })
    }
}

impl<'a> CallDelta<'a> {
    fn read(cursor: &mut Cursor<'a>) -> ReadResult<Self> {
        let mut call = Self::default();
        let mut rest = Rest::default();
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("index", JsonKind::Number) => call.index = cursor.count()?,
                ("id", JsonKind::String) => call.id = Some(cursor.string()?),
                ("function", JsonKind::Object) => call.function(cursor)?,
                ("extra_content", JsonKind::Object) => rest.take(key.as_ref(), cursor)?,
                _ => {}
            }
            Ok(())
        })?;
        call.extra = rest.into_native(CHAT);
        Ok(call)
    }

    fn function(&mut self, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("name", JsonKind::String) => self.name = Some(cursor.string()?),
                ("arguments", _) => self.arguments = arguments(cursor)?,
                _ => {}
            }
            Ok(())
        })
    }
}
