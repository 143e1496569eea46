//! Reads one NDJSON line of a stream, or a complete response, which has the same
//! fields.

use std::borrow::Cow;

use majordomo_llm::{Native, Usage};

use super::read_message::OllamaMessageFields;
use super::{OLLAMA, THINKING_KEY, tool_calls, usage};
use crate::json::{Cursor, JsonKind, ReadResult, Rest};

/// The fields of a line.
#[derive(Default)]
pub(super) struct OllamaStreamChunk<'a> {
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) message: OllamaMessageFields<'a>,
    /// Whether there is a message, even an empty one.
    pub(super) has_message: bool,
    pub(super) done: Option<bool>,
    pub(super) done_reason: Option<Cow<'a, str>>,
    pub(super) usage: Option<Usage>,
    pub(super) error: Option<&'a str>,
    rest: Rest,
}

impl<'a> OllamaStreamChunk<'a> {
    pub(super) fn read_field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        if usage::read_count(&mut self.usage, key, cursor)? {
            return Ok(());
        }
        match (key, cursor.peek()?) {
            ("model", JsonKind::String) => self.model = Some(cursor.string()?),
            ("message", JsonKind::Object) => {
                self.has_message = true;
                cursor.loose_object(|key, cursor| self.message.read_field(key, cursor))?;
            }
            // `/api/generate` has no `message` around these fields.
            ("response", JsonKind::String) => {
                self.has_message = true;
                self.message.content = Some(cursor.string()?);
            }
            (THINKING_KEY, JsonKind::String) => self.message.thinking = Some(cursor.string()?),
            ("tool_calls", JsonKind::Array) => {
                tool_calls::read_tool_calls(cursor, &mut self.message.calls)?
            }
            ("done", JsonKind::Bool) => self.done = Some(cursor.bool()?),
            ("done_reason", JsonKind::String) => self.done_reason = Some(cursor.string()?),
            ("error", JsonKind::Object | JsonKind::String) => self.error = Some(cursor.raw()?),
            ("model" | "created_at" | "message" | "response" | THINKING_KEY | "tool_calls", _)
            | ("done" | "done_reason" | "error", _) => {}
            _ => self.rest.take(key, cursor)?,
        }
        Ok(())
    }

    /// Whether this is the last line. Some servers send only `done_reason`.
    pub(super) fn is_last(&self) -> bool {
        self.done.unwrap_or(self.done_reason.is_some())
    }

    /// Takes the unmodelled fields.
    pub(super) fn take_native(&mut self) -> Option<Box<Native>> {
        let mut rest = std::mem::take(&mut self.message.rest).inside("message");
        rest.append(std::mem::take(&mut self.rest));
        rest.into_native(OLLAMA)
    }
}
