//! One chunk of a stream, parsed.

use std::borrow::Cow;

use majordomo_llm::{Native, Usage};

use super::read_message::thinking;
use super::tool_calls::arguments;
use super::{CHAT, usage};
use crate::json::{Cursor, Kind, Read, Rest};

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
    ) -> Read<()> {
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
        let mut delta = None;
        // A server that does not stream answers with the whole message.
        let mut message = Delta::default();
        let mut finish = None;
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("index", Kind::Number) => index = cursor.count()?.unwrap_or_default(),
                ("delta", Kind::Object) => {
                    let delta = delta.get_or_insert_with(Delta::default);
                    cursor.loose_object(|key, cursor| delta.read(key, cursor))?;
                }
                ("message", Kind::Object) => {
                    cursor.loose_object(|key, cursor| message.read(key, cursor))?;
                }
                ("finish_reason", Kind::String) => finish = Some(cursor.string()?),
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
        let mut rest = Rest::default();
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
