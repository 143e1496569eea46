//! One line of a stream, parsed. A whole answer has the same fields.

use std::borrow::Cow;

use majordomo_llm::{Native, Usage};

use super::read_message::MessageFields;
use super::{OLLAMA, THINKING, tool_calls, usage};
use crate::json::{Cursor, JsonKind, ReadResult, Rest};

/// What a line says.
#[derive(Default)]
pub(super) struct Chunk<'a> {
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) message: MessageFields<'a>,
    /// Whether there was a message at all, be it empty.
    pub(super) said: bool,
    pub(super) done: Option<bool>,
    pub(super) finish: Option<Cow<'a, str>>,
    pub(super) usage: Option<Usage>,
    pub(super) error: Option<&'a str>,
    rest: Rest,
}

impl<'a> Chunk<'a> {
    pub(super) fn read(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        if usage::read(&mut self.usage, key, cursor)? {
            return Ok(());
        }
        match (key, cursor.peek()?) {
            ("model", JsonKind::String) => self.model = Some(cursor.string()?),
            ("message", JsonKind::Object) => {
                self.said = true;
                cursor.loose_object(|key, cursor| self.message.read(key, cursor))?;
            }
            // The form of generate has no message around its fields.
            ("response", JsonKind::String) => {
                self.said = true;
                self.message.content = Some(cursor.string()?);
            }
            (THINKING, JsonKind::String) => self.message.thinking = Some(cursor.string()?),
            ("tool_calls", JsonKind::Array) => tool_calls::read(cursor, &mut self.message.calls)?,
            ("done", JsonKind::Bool) => self.done = Some(cursor.bool()?),
            ("done_reason", JsonKind::String) => self.finish = Some(cursor.string()?),
            ("error", JsonKind::Object | JsonKind::String) => self.error = Some(cursor.raw()?),
            ("model" | "created_at" | "message" | "response" | THINKING | "tool_calls", _)
            | ("done" | "done_reason" | "error", _) => {}
            _ => self.rest.take(key, cursor)?,
        }
        Ok(())
    }

    /// Whether it is the last one. Some servers tell only the reason.
    pub(super) fn is_last(&self) -> bool {
        self.done.unwrap_or(self.finish.is_some())
    }

    /// Takes the fields that the contract does not model.
    pub(super) fn native(&mut self) -> Option<Box<Native>> {
        let mut rest = std::mem::take(&mut self.message.rest).inside("message");
        rest.append(std::mem::take(&mut self.rest));
        rest.into_native(OLLAMA)
    }
}
