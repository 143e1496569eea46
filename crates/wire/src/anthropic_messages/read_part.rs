//! Reads content blocks: text, images, documents, tool calls, tool results and thinking.
//!
//! They occur in messages and responses, and inside a `tool_result` block.

use std::borrow::Cow;

use bytes::Bytes;
use majordomo_llm::{
    File, Image, Json, Native, Part, Reasoning, RemoteImage, Text, ToolCall, ToolResult,
};

use super::opaque::OPAQUE;
use super::{MESSAGES, call_id};
use crate::arguments::{arguments_or_none, read_arguments};
use crate::base64;
use crate::image_forms::file_media_type;
use crate::json::{Cursor, JsonKind, ReadResult, Rest, keep};

/// Reads a string, a list of blocks, or `null`.
pub(super) fn read_content(cursor: &mut Cursor<'_>, parts: &mut Vec<Part>) -> ReadResult<()> {
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
        // An object is invalid here; this read reports it with its path.
        _ => cursor.string().map(drop),
    }
}

/// Reads one block. Unknown blocks, and known ones of an unknown form, are kept
/// verbatim.
pub(super) fn read_part(cursor: &mut Cursor<'_>) -> ReadResult<Part> {
    if cursor.peek()? == JsonKind::String {
        return cursor.string().map(Part::text);
    }
    let mut block = MessagesPartFields::default();
    let ((), raw) =
        cursor.with_raw(|cursor| cursor.object(|key, cursor| block.read_field(key, cursor)))?;
    let kind = block.kind.take().unwrap_or_default();
    let understood = block.into_part(&kind)?;
    Ok(understood.unwrap_or_else(|| OPAQUE.part(kind, raw)))
}

/// The fields of a block, in any order.
#[derive(Default)]
struct MessagesPartFields<'a> {
    kind: Option<Cow<'a, str>>,
    text: Option<Cow<'a, str>>,
    id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    input: Cow<'a, str>,
    is_error: bool,
    /// The content of a tool result.
    parts: Vec<Part>,
    /// Content that precedes the type, which determines its meaning.
    early: Option<Cursor<'a>>,
    source: Option<MessagesSourceFields<'a>>,
    rest: Rest,
}

#[derive(Default)]
struct MessagesSourceFields<'a> {
    kind: Option<Cow<'a, str>>,
    media_type: Option<Cow<'a, str>>,
    data: Option<Cow<'a, str>>,
    url: Option<Cow<'a, str>>,
}

const MODELLED: &[&str] = &[
    "text",
    "image",
    "document",
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
];

impl<'a> MessagesPartFields<'a> {
    fn read_field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        let opaque = |kind: &Cow<'_, str>| !MODELLED.contains(&&**kind);
        if self.kind.as_ref().is_some_and(opaque) {
            return Ok(());
        }
        match (key, cursor.peek()?) {
            ("type", JsonKind::String) => self.kind = Some(cursor.string()?),
            ("text", JsonKind::String) if self.may_be("text") => self.text = Some(cursor.string()?),
            ("thinking", JsonKind::String) if self.may_be("thinking") => {
                self.text = Some(cursor.string()?);
            }
            ("id", JsonKind::String) if self.may_be("tool_use") => self.id = Some(cursor.string()?),
            ("name", JsonKind::String) if self.may_be("tool_use") => {
                self.name = Some(cursor.string()?);
            }
            ("input", _) if self.may_be("tool_use") => self.input = read_arguments(cursor)?,
            ("tool_use_id", JsonKind::String) if self.may_be("tool_result") => {
                self.id = Some(cursor.string()?);
            }
            ("is_error", JsonKind::Bool) if self.may_be("tool_result") => {
                self.is_error = cursor.bool()?;
            }
            ("content", _) if self.kind.as_deref() == Some("tool_result") => {
                read_content(cursor, &mut self.parts)?;
            }
            ("content", _) if self.kind.is_none() => {
                self.early = Some(cursor.fork());
                cursor.raw()?;
            }
            ("source", JsonKind::Object) if self.may_be("image") || self.may_be("document") => {
                self.source = Some(MessagesSourceFields::read(cursor, &mut self.rest)?);
            }
            ("title", JsonKind::String) if self.may_be("document") => {
                self.name = Some(cursor.string()?);
            }
            // Absent, null and empty are equivalent for these.
            ("cache_control" | "citations" | "caller" | "is_error", JsonKind::Null) => {}
            ("citations", JsonKind::Array) => {
                let raw = cursor.raw()?;
                if raw != "[]" {
                    self.rest.push(key, keep(raw));
                }
            }
            _ => self.rest.take(key, cursor)?,
        }
        Ok(())
    }

    fn may_be(&self, kind: &str) -> bool {
        self.kind.as_deref().is_none_or(|known| known == kind)
    }

    fn into_part(mut self, kind: &str) -> ReadResult<Option<Part>> {
        match (self.early.take(), kind) {
            (Some(mut early), "tool_result") => read_content(&mut early, &mut self.parts)?,
            (Some(mut early), _) if MODELLED.contains(&kind) => {
                self.rest.take("content", &mut early)?;
            }
            _ => {}
        }
        Ok(match kind {
            "text" => self.text.take().map(|text| {
                Part::Text(Text {
                    text: text.into_owned(),
                    native: self.native(),
                })
            }),
            "thinking" => self.thinking(),
            "redacted_thinking" if !self.rest.is_empty() => Some(Part::Reasoning(Reasoning {
                text: String::new(),
                native: self.native(),
            })),
            "tool_use" => Some(self.tool_use()),
            "tool_result" => Some(self.tool_result()),
            "image" => self.image(),
            "document" => self.document(),
            _ => None,
        })
    }

    /// Thinking is sent back to its origin even without a signature.
    fn thinking(mut self) -> Option<Part> {
        let text = self.text.take()?.into_owned();
        if self.rest.is_empty() {
            self.rest.push("field", Json::string("thinking"));
        }
        Some(Part::Reasoning(Reasoning {
            text,
            native: self.native(),
        }))
    }

    fn tool_use(mut self) -> Part {
        Part::ToolCall(ToolCall {
            id: call_id::decode(&self.id.take().unwrap_or_default()),
            name: self.name.take().unwrap_or_default().into_owned(),
            arguments: arguments_or_none(std::mem::take(&mut self.input)),
            native: self.native(),
        })
    }

    fn tool_result(mut self) -> Part {
        Part::ToolResult(ToolResult {
            call_id: call_id::decode(&self.id.take().unwrap_or_default()),
            name: None,
            parts: std::mem::take(&mut self.parts),
            is_error: self.is_error,
            native: self.native(),
        })
    }

    /// Reads an image; one that is referenced by file id is kept verbatim.
    fn image(mut self) -> Option<Part> {
        let source = self.source.take()?;
        match source.kind.as_deref()? {
            "base64" => Some(Part::Image(Image {
                data: base64::decode(source.data.as_deref()?)?.into(),
                media_type: source.media_type.unwrap_or_default().into_owned(),
                native: self.native(),
            })),
            "url" => Some(Part::RemoteImage(RemoteImage {
                url: source.url?.into_owned(),
                native: self.native(),
            })),
            _ => None,
        }
    }

    /// Reads a document: plain text as text, everything else as base64.
    fn document(mut self) -> Option<Part> {
        let source = self.source.take()?;
        let media_type = source.media_type.unwrap_or_default().into_owned();
        let (media_type, data): (String, Bytes) = match (source.kind.as_deref()?, &*media_type) {
            ("text", PLAIN_TEXT) => (media_type, source.data?.into_owned().into()),
            ("base64", other) if other != PLAIN_TEXT => {
                let data = base64::decode(source.data.as_deref()?)?;
                (file_media_type(other, &data), data)
            }
            _ => return None,
        };
        self.rest.push("field", Json::string("document"));
        Some(Part::File(File {
            media_type,
            data,
            name: self.name.take().map(Cow::into_owned),
            native: self.native(),
        }))
    }

    fn native(&mut self) -> Option<Box<Native>> {
        std::mem::take(&mut self.rest).into_native(MESSAGES)
    }
}

/// The media type of documents that are written as text.
pub(super) const PLAIN_TEXT: &str = "text/plain";

impl<'a> MessagesSourceFields<'a> {
    fn read(cursor: &mut Cursor<'a>, rest: &mut Rest) -> ReadResult<Self> {
        let mut source = Self::default();
        cursor.object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("type", JsonKind::String) => source.kind = Some(cursor.string()?),
                ("media_type", JsonKind::String) => source.media_type = Some(cursor.string()?),
                ("data", JsonKind::String) => source.data = Some(cursor.string()?),
                ("url", JsonKind::String) => source.url = Some(cursor.string()?),
                // Only kept as part of the whole block; it may be large.
                ("content", _) => {}
                _ => rest.take(format!("source.{key}"), cursor)?,
            }
            Ok(())
        })?;
        Ok(source)
    }
}
