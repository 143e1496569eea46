//! Reads one message: of a conversation, or of an answer.

use std::borrow::Cow;

use majordomo_llm::{Json, Message, Part, Reasoning, Role, ToolResult};

use super::{OLLAMA, THINKING, image, own_reasoning, tool_calls};
use crate::json::{Cursor, JsonKind, ReadResult, Rest};

/// Reads a message of a conversation.
pub(super) fn read(cursor: &mut Cursor<'_>) -> ReadResult<Message> {
    let mut fields = MessageFields::default();
    cursor.object(|key, cursor| fields.read(key, cursor))?;
    Ok(fields.into_message())
}

/// The fields of a message, in whatever order they came.
#[derive(Default)]
pub(super) struct MessageFields<'a> {
    role: Option<Cow<'a, str>>,
    pub(super) content: Option<Cow<'a, str>>,
    pub(super) thinking: Option<Cow<'a, str>>,
    pictures: Vec<Part>,
    pub(super) calls: Vec<Part>,
    tool_name: Option<String>,
    tool_call_id: Option<String>,
    pub(super) rest: Rest,
}

impl<'a> MessageFields<'a> {
    pub(super) fn read(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            ("role", _) => self.role = cursor.optional(Cursor::string)?,
            ("content", _) => self.content = cursor.optional(Cursor::string)?,
            (THINKING, JsonKind::String) => self.thinking = Some(cursor.string()?),
            ("images", JsonKind::Array) => cursor.array(|cursor| {
                self.pictures.push(image::read(cursor)?);
                Ok(())
            })?,
            ("tool_calls", JsonKind::Array) => tool_calls::read(cursor, &mut self.calls)?,
            ("tool_name", JsonKind::String) => self.tool_name = filled(cursor)?,
            ("tool_call_id", JsonKind::String) => self.tool_call_id = filled(cursor)?,
            // Absent and null are the same for all of these.
            (THINKING | "images" | "tool_calls" | "tool_name" | "tool_call_id", JsonKind::Null) => {
            }
            _ => self.rest.take(key, cursor)?,
        }
        Ok(())
    }

    /// The parts in the order in which they were said.
    pub(super) fn into_parts(self) -> (Vec<Part>, Rest) {
        let thinking = self.thinking.filter(|text| !text.is_empty());
        let reasoning = thinking.map(|text| {
            Part::Reasoning(Reasoning {
                text: text.into_owned(),
                native: own_reasoning(),
            })
        });
        let content = self.content.filter(|text| !text.is_empty());
        let parts = reasoning
            .into_iter()
            .chain(content.map(Part::text))
            .chain(self.pictures)
            .chain(self.calls)
            .collect();
        (parts, self.rest)
    }

    fn into_message(mut self) -> Message {
        let word = self.role.take().unwrap_or_default();
        let role = match &*word {
            "system" | "developer" => Role::System,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            _ => Role::User,
        };
        if !matches!(&*word, "system" | "user" | "assistant" | "tool") {
            self.rest.push("role", Json::string(&word));
        }
        let (call_id, name) = (self.tool_call_id.take(), self.tool_name.take());
        let (mut parts, mut rest) = self.into_parts();
        if role == Role::Tool {
            parts = vec![Part::ToolResult(ToolResult {
                call_id: call_id.unwrap_or_default(),
                name,
                parts,
                is_error: false,
                native: None,
            })];
        } else {
            let stray = [("tool_call_id", call_id), ("tool_name", name)];
            for (key, value) in stray {
                if let Some(value) = value {
                    rest.push(key, Json::string(&value));
                }
            }
        }
        Message {
            role,
            parts,
            native: rest.into_native(OLLAMA),
        }
    }
}

fn filled(cursor: &mut Cursor<'_>) -> ReadResult<Option<String>> {
    let text = cursor.string()?;
    Ok((!text.is_empty()).then(|| text.into_owned()))
}
