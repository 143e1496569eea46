//! Reads a message: an element of `messages`, or the `message` of a choice.

use std::borrow::Cow;

use majordomo_llm::{
    File, Image, Json, Message, Part, Reasoning, RemoteImage, Role, Text, ToolResult,
};

use super::CHAT;
use super::opaque::OPAQUE;
use super::tool_calls::{self, read_tool_calls};
use crate::base64::decode_data_url;
use crate::image_forms::file_media_type;
use crate::json::{self, Cursor, JsonKind, ReadResult, Rest, keep};

/// Reads one element of `messages`.
pub(super) fn read_message(cursor: &mut Cursor<'_>) -> ReadResult<Message> {
    let mut fields = ChatMessageFields::default();
    cursor.object(|key, cursor| fields.read_field(key, cursor))?;
    Ok(fields.into_message())
}

/// The fields of a message, collected in any order.
#[derive(Default)]
pub(super) struct ChatMessageFields<'a> {
    role: Option<Cow<'a, str>>,
    content: Vec<Part>,
    /// The form in which the client wrote empty content.
    empty_content: Option<&'a str>,
    reasoning: Option<Reasoning>,
    refusal: Option<Text>,
    calls: Vec<Part>,
    tool_call_id: Option<String>,
    name: Option<Json>,
    pub(super) rest: Rest,
}

impl<'a> ChatMessageFields<'a> {
    pub(super) fn read_field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            ("role", _) => self.role = cursor.optional(Cursor::string)?,
            ("content", _) => {
                let ((), raw) =
                    cursor.with_raw(|cursor| read_content(cursor, &mut self.content))?;
                self.empty_content = Some(raw).filter(|raw| json::is_empty(raw));
            }
            ("reasoning_content" | "reasoning", JsonKind::String) => {
                let (text, raw) = cursor.with_raw(Cursor::string)?;
                self.keep_reasoning(key, text.into_owned(), raw);
            }
            ("reasoning_details", JsonKind::Array) => {
                let raw = cursor.raw()?;
                if raw != "[]" {
                    let reasoning = self.reasoning.get_or_insert_default();
                    push_native(reasoning, key, keep(raw));
                }
            }
            ("refusal", JsonKind::String) => {
                let text = cursor.string()?;
                if !text.is_empty() {
                    self.refusal = Some(Text::new(text));
                }
            }
            ("tool_calls", JsonKind::Array) => read_tool_calls(cursor, &mut self.calls)?,
            ("function_call", JsonKind::Object) => {
                if let Some(call) = tool_calls::read_legacy_function_call(cursor)? {
                    self.calls.push(Part::ToolCall(call));
                }
            }
            ("tool_call_id", JsonKind::String) => self.tool_call_id = Some(cursor.string()?.into()),
            ("name", JsonKind::String) => self.name = Some(keep(cursor.raw()?)),
            // Null means absent for all of these.
            (
                "reasoning_content" | "reasoning" | "reasoning_details" | "refusal" | "tool_calls"
                | "function_call" | "tool_call_id" | "name" | "audio" | "annotations",
                JsonKind::Null,
            ) => {}
            _ => self.rest.take(key, cursor)?,
        }
        Ok(())
    }

    /// Some servers send the same text under both names; both are kept.
    fn keep_reasoning(&mut self, field: &str, text: String, raw: &str) {
        if text.is_empty() {
            return;
        }
        let reasoning = self.reasoning.get_or_insert_default();
        if reasoning.text.is_empty() {
            reasoning.text = text;
            push_native(reasoning, "field", Json::string(field));
        } else {
            push_native(reasoning, field, keep(raw));
        }
    }

    /// Returns the parts in the order the model produced them.
    pub(super) fn into_parts(self) -> (Vec<Part>, Rest) {
        let mut rest = self.rest;
        if let Some(name) = self.name {
            rest.push("name", name);
        }
        let reasoning = self.reasoning.map(Part::Reasoning);
        let refusal = self.refusal.map(Part::Refusal);
        let parts = reasoning
            .into_iter()
            .chain(self.content)
            .chain(refusal)
            .chain(self.calls)
            .collect();
        (parts, rest)
    }

    fn into_message(mut self) -> Message {
        let name = self.role.take().unwrap_or_default();
        let role = match &*name {
            "system" | "developer" => Role::System,
            "assistant" => Role::Assistant,
            "tool" | "function" => Role::Tool,
            _ => Role::User,
        };
        if !matches!(&*name, "system" | "user" | "assistant" | "tool") {
            self.rest.push("role", Json::string(&name));
        }
        // Absent, null and empty content are kept distinct for this dialect.
        let has_others = !self.calls.is_empty() || self.refusal.is_some();
        let default = match role == Role::Assistant && has_others {
            true => "null",
            false => "\"\"",
        };
        if let Some(raw) = self.empty_content.filter(|raw| *raw != default) {
            self.rest.push("content", keep(raw));
        }
        if role == Role::Tool {
            return self.into_tool_message();
        }
        let (parts, rest) = self.into_parts();
        Message {
            role,
            parts,
            native: rest.into_native(CHAT),
        }
    }

    fn into_tool_message(mut self) -> Message {
        let result = ToolResult {
            call_id: self.tool_call_id.take().unwrap_or_default(),
            name: self.name.take().and_then(|name| name.to().ok()),
            parts: std::mem::take(&mut self.content),
            is_error: false,
            native: None,
        };
        let (mut parts, rest) = self.into_parts();
        parts.insert(0, Part::ToolResult(result));
        Message {
            role: Role::Tool,
            parts,
            native: rest.into_native(CHAT),
        }
    }
}

fn push_native(reasoning: &mut Reasoning, name: &str, value: Json) {
    let native = reasoning
        .native
        .get_or_insert_with(|| Box::new(majordomo_llm::Native::new(CHAT)));
    native.push(name, value);
}

/// Reads `content`: a string, an array of parts, or null.
fn read_content(cursor: &mut Cursor<'_>, parts: &mut Vec<Part>) -> ReadResult<()> {
    match cursor.peek()? {
        JsonKind::String => {
            let text = cursor.string()?;
            if !text.is_empty() {
                parts.push(Part::text(text));
            }
            Ok(())
        }
        JsonKind::Array => cursor.array(|cursor| {
            parts.push(read_part(cursor)?);
            Ok(())
        }),
        JsonKind::Null => cursor.raw().map(drop),
        // No server sends an object; this reports the error with its path.
        _ => cursor.string().map(drop),
    }
}

/// Reads one element of a `content` array.
pub(super) fn read_part(cursor: &mut Cursor<'_>) -> ReadResult<Part> {
    if cursor.peek()? == JsonKind::String {
        return cursor.string().map(Part::text);
    }
    let mut fields = ChatPartFields::default();
    let ((), raw) =
        cursor.with_raw(|cursor| cursor.object(|key, cursor| fields.read_field(key, cursor)))?;
    Ok(fields.into_part(raw))
}

/// The fields of a content part, collected in any order.
#[derive(Default)]
struct ChatPartFields<'a> {
    kind: Option<Cow<'a, str>>,
    text: Option<String>,
    thinking: Option<String>,
    url: Option<Cow<'a, str>>,
    file_data: Option<Cow<'a, str>>,
    filename: Option<String>,
    rest: Rest,
}

impl<'a> ChatPartFields<'a> {
    fn read_field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            ("type", JsonKind::String) => self.kind = Some(cursor.string()?),
            ("text" | "refusal", JsonKind::String) => self.text = Some(cursor.string()?.into()),
            ("thinking", JsonKind::String | JsonKind::Array) => {
                self.thinking = Some(read_thinking(cursor)?)
            }
            ("image_url", JsonKind::String) => self.url = Some(cursor.string()?),
            ("image_url", JsonKind::Object) => cursor.object(|key, cursor| {
                match (&**key, cursor.peek()?) {
                    ("url", JsonKind::String) => self.url = Some(cursor.string()?),
                    _ => self.rest.take(format!("image_url.{key}"), cursor)?,
                }
                Ok(())
            })?,
            ("file", JsonKind::Object) => cursor.object(|key, cursor| {
                match (&**key, cursor.peek()?) {
                    ("file_data", JsonKind::String) => self.file_data = Some(cursor.string()?),
                    ("filename", JsonKind::String) => self.filename = Some(cursor.string()?.into()),
                    _ => self.rest.take(format!("file.{key}"), cursor)?,
                }
                Ok(())
            })?,
            // Kept only as part of the opaque block, since it may be large.
            ("input_audio", _) => {}
            _ => self.rest.take(key, cursor)?,
        }
        Ok(())
    }

    fn into_part(mut self, raw: &str) -> Part {
        let kind = self.kind.take().unwrap_or_default();
        let part = match &*kind {
            "text" | "refusal" | "thinking" => self.text_part(&kind),
            // vLLM needs no type.
            "" | "image_url" => self.image_part(),
            "file" => self.file_part(),
            _ => None,
        };
        part.unwrap_or_else(|| OPAQUE.part(kind, raw))
    }

    fn text_part(&mut self, kind: &str) -> Option<Part> {
        if kind == "thinking" {
            let text = self.thinking.take()?;
            self.rest.push("field", Json::string("thinking"));
            return Some(Part::Reasoning(Reasoning {
                text,
                native: self.take_native(),
            }));
        }
        let text = Text {
            text: self.text.take()?,
            native: self.take_native(),
        };
        Some(match kind {
            "refusal" => Part::Refusal(text),
            _ => Part::Text(text),
        })
    }

    fn image_part(&mut self) -> Option<Part> {
        let url = self.url.take()?;
        Some(match decode_data_url(&url) {
            Some((media_type, data)) => Part::Image(Image {
                media_type: media_type.to_owned(),
                data: data.into(),
                native: self.take_native(),
            }),
            None => Part::RemoteImage(RemoteImage {
                url: url.into_owned(),
                native: self.take_native(),
            }),
        })
    }

    /// Returns none for a file given by id, which stays opaque.
    fn file_part(&mut self) -> Option<Part> {
        let data_url = self.file_data.take()?;
        let (media_type, data) = decode_data_url(&data_url)?;
        self.rest.push("field", Json::string("file"));
        Some(Part::File(File {
            media_type: file_media_type(media_type, &data),
            data,
            name: self.filename.take(),
            native: self.take_native(),
        }))
    }

    fn take_native(&mut self) -> Option<Box<majordomo_llm::Native>> {
        std::mem::take(&mut self.rest).into_native(CHAT)
    }
}

/// Reads Mistral's `thinking`: a string, or an array of text parts.
pub(super) fn read_thinking(cursor: &mut Cursor<'_>) -> ReadResult<String> {
    if cursor.peek()? == JsonKind::String {
        return cursor.string().map(Cow::into_owned);
    }
    let mut text = String::new();
    cursor.array(|cursor| {
        if cursor.peek()? != JsonKind::Object {
            return Ok(());
        }
        cursor.loose_object(|key, cursor| {
            if key == "text" {
                text.push_str(&cursor.maybe_string()?.unwrap_or_default());
            }
            Ok(())
        })
    })?;
    Ok(text)
}
