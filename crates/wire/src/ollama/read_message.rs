//! Reads a message: an element of `messages`, or the `message` of a response.

use std::borrow::Cow;

use majordomo_llm::{Json, Message, Part, Reasoning, Role, ToolResult};

use super::{OLLAMA, THINKING_KEY, image, reasoning_native, tool_calls};
use crate::json::{Cursor, JsonKind, ReadResult, Rest};

/// Reads one element of `messages`.
pub(super) fn read_message(cursor: &mut Cursor<'_>) -> ReadResult<Message> {
    let mut fields = OllamaMessageFields::default();
    cursor.object(|key, cursor| fields.read_field(key, cursor))?;
    Ok(fields.into_message())
}

/// The fields of a message, collected in any order.
#[derive(Default)]
pub(super) struct OllamaMessageFields<'a> {
    role: Option<Cow<'a, str>>,
    pub(super) content: Option<Cow<'a, str>>,
    pub(super) thinking: Option<Cow<'a, str>>,
    images: Vec<Part>,
    pub(super) calls: Vec<Part>,
    tool_name: Option<String>,
    tool_call_id: Option<String>,
    pub(super) rest: Rest,
}

impl<'a> OllamaMessageFields<'a> {
    pub(super) fn read_field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            ("role", _) => self.role = cursor.optional(Cursor::string)?,
            ("content", _) => self.content = cursor.optional(Cursor::string)?,
            (THINKING_KEY, JsonKind::String) => self.thinking = Some(cursor.string()?),
            ("images", JsonKind::Array) => cursor.array(|cursor| {
                self.images.push(image::read(cursor)?);
                Ok(())
            })?,
            ("tool_calls", JsonKind::Array) => {
                tool_calls::read_tool_calls(cursor, &mut self.calls)?
            }
            ("tool_name", JsonKind::String) => self.tool_name = read_non_empty(cursor)?,
            ("tool_call_id", JsonKind::String) => self.tool_call_id = read_non_empty(cursor)?,
            // Null means absent for all of these.
            (
                THINKING_KEY | "images" | "tool_calls" | "tool_name" | "tool_call_id",
                JsonKind::Null,
            ) => {}
            _ => self.rest.take(key, cursor)?,
        }
        Ok(())
    }

    /// Returns the parts in the order the model produced them.
    pub(super) fn into_parts(self) -> (Vec<Part>, Rest) {
        let thinking = self.thinking.filter(|text| !text.is_empty());
        let reasoning = thinking.map(|text| {
            Part::Reasoning(Reasoning {
                text: text.into_owned(),
                native: reasoning_native(),
            })
        });
        let content = self.content.filter(|text| !text.is_empty());
        let parts = reasoning
            .into_iter()
            .chain(content.map(Part::text))
            .chain(self.images)
            .chain(self.calls)
            .collect();
        (parts, self.rest)
    }

    fn into_message(mut self) -> Message {
        let role_name = self.role.take().unwrap_or_default();
        let role = match &*role_name {
            "system" | "developer" => Role::System,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            _ => Role::User,
        };
        if !matches!(&*role_name, "system" | "user" | "assistant" | "tool") {
            self.rest.push("role", Json::string(&role_name));
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

fn read_non_empty(cursor: &mut Cursor<'_>) -> ReadResult<Option<String>> {
    let text = cursor.string()?;
    Ok((!text.is_empty()).then(|| text.into_owned()))
}
