//! Reads one `chat.completion.chunk`.

use std::borrow::Cow;

use majordomo_llm::{Native, Usage};

use super::read_message::read_thinking;
use super::{CHAT, usage};
use crate::arguments::read_arguments;
use crate::json::{Cursor, JsonKind, ReadResult, Rest};

/// The fields of a chunk, with the delta of the selected choice.
#[derive(Default)]
pub(super) struct ChatStreamChunk<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) delta: ChatDelta<'a>,
    pub(super) finish_reason: Option<Cow<'a, str>>,
    pub(super) usage: Option<Usage>,
    pub(super) error: Option<&'a str>,
}

/// The `delta` of a choice.
#[derive(Default)]
pub(super) struct ChatDelta<'a> {
    pub(super) content: Vec<ChatContentDelta<'a>>,
    pub(super) reasoning: Option<(&'static str, Cow<'a, str>)>,
    pub(super) reasoning_details: Option<&'a str>,
    pub(super) refusal: Option<Cow<'a, str>>,
    pub(super) calls: Vec<ChatToolCallDelta<'a>>,
}

/// A fragment of `content`: text, or Mistral's `thinking` in the same array.
pub(super) enum ChatContentDelta<'a> {
    Text(Cow<'a, str>),
    Thinking(String),
}

/// An element of `delta.tool_calls`.
#[derive(Default)]
pub(super) struct ChatToolCallDelta<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) arguments: String,
    pub(super) extra: Option<Box<Native>>,
}

impl<'a> ChatStreamChunk<'a> {
    /// Reads one field. `selected` is the index of the choice to read: that of the
    /// first one seen.
    pub(super) fn read_field(
        &mut self,
        key: &str,
        cursor: &mut Cursor<'a>,
        selected: &mut Option<u64>,
    ) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            ("id", JsonKind::String) => self.id = Some(cursor.string()?),
            ("model", JsonKind::String) => self.model = Some(cursor.string()?),
            ("usage", JsonKind::Object) => self.usage = usage::read_usage(cursor)?,
            ("x_groq", JsonKind::Object) => cursor.loose_object(|key, cursor| {
                if key == "usage" {
                    self.usage = usage::read_usage(cursor)?.or(self.usage);
                }
                Ok(())
            })?,
            ("error", JsonKind::Object | JsonKind::String) => self.error = Some(cursor.raw()?),
            ("choices", JsonKind::Array) => cursor.array(|cursor| {
                if cursor.peek()? == JsonKind::Object {
                    self.read_choice(cursor, selected)?;
                }
                Ok(())
            })?,
            _ => {}
        }
        Ok(())
    }

    fn read_choice(
        &mut self,
        cursor: &mut Cursor<'a>,
        selected: &mut Option<u64>,
    ) -> ReadResult<()> {
        let mut index = 0;
        let mut delta = None;
        // A server that does not stream sends the complete `message`.
        let mut message = ChatDelta::default();
        let mut finish_reason = None;
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("index", JsonKind::Number) => index = cursor.count()?.unwrap_or_default(),
                ("delta", JsonKind::Object) => {
                    let delta = delta.get_or_insert_with(ChatDelta::default);
                    cursor.loose_object(|key, cursor| delta.read_field(key, cursor))?;
                }
                ("message", JsonKind::Object) => {
                    cursor.loose_object(|key, cursor| message.read_field(key, cursor))?;
                }
                ("finish_reason", JsonKind::String) => finish_reason = Some(cursor.string()?),
                _ => {}
            }
            Ok(())
        })?;
        if *selected.get_or_insert(index) == index {
            self.delta = delta.unwrap_or(message);
            self.finish_reason = finish_reason;
        }
        Ok(())
    }
}

impl<'a> ChatDelta<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.content.is_empty() && self.reasoning.is_none() && self.calls.is_empty()
    }

    fn read_field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            ("content", JsonKind::String) => {
                self.content.push(ChatContentDelta::Text(cursor.string()?))
            }
            ("content", JsonKind::Array) => {
                cursor.array(|cursor| self.read_content_part(cursor))?
            }
            ("reasoning_content", JsonKind::String) => {
                self.reasoning = Some(("reasoning_content", cursor.string()?));
            }
            ("reasoning", JsonKind::String) if self.reasoning.is_none() => {
                self.reasoning = Some(("reasoning", cursor.string()?));
            }
            ("reasoning_details", JsonKind::Array) => self.reasoning_details = Some(cursor.raw()?),
            ("refusal", JsonKind::String) => self.refusal = Some(cursor.string()?),
            ("tool_calls", JsonKind::Array) => cursor.array(|cursor| {
                if cursor.peek()? == JsonKind::Object {
                    self.calls.push(ChatToolCallDelta::read(cursor)?);
                }
                Ok(())
            })?,
            ("function_call", JsonKind::Object) => {
                let mut call = ChatToolCallDelta::default();
                call.read_function(cursor)?;
                self.calls.push(call);
            }
            _ => {}
        }
        Ok(())
    }

    fn read_content_part(&mut self, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        if cursor.peek()? != JsonKind::Object {
            return Ok(());
        }
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("text", JsonKind::String) => {
                    self.content.push(ChatContentDelta::Text(cursor.string()?))
                }
                ("thinking", JsonKind::String | JsonKind::Array) => {
                    self.content
                        .push(ChatContentDelta::Thinking(read_thinking(cursor)?));
                }
                _ => {}
            }
            Ok(())
        })
    }
}

impl<'a> ChatToolCallDelta<'a> {
    fn read(cursor: &mut Cursor<'a>) -> ReadResult<Self> {
        let mut call = Self::default();
        let mut rest = Rest::default();
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("index", JsonKind::Number) => call.index = cursor.count()?,
                ("id", JsonKind::String) => call.id = Some(cursor.string()?),
                ("function", JsonKind::Object) => call.read_function(cursor)?,
                ("extra_content", JsonKind::Object) => rest.take(key.as_ref(), cursor)?,
                _ => {}
            }
            Ok(())
        })?;
        call.extra = rest.into_native(CHAT);
        Ok(call)
    }

    fn read_function(&mut self, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("name", JsonKind::String) => self.name = Some(cursor.string()?),
                ("arguments", _) => self.arguments = read_arguments(cursor)?.into_owned(),
                _ => {}
            }
            Ok(())
        })
    }
}
