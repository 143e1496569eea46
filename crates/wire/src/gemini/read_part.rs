//! Reads one part of a content, of a `functionResponse` or of a candidate.

use std::borrow::Cow;

use majordomo_llm::{File, Image, Json, Part, Reasoning, RemoteImage, Text, ToolCall, ToolResult};

use super::opaque::OPAQUE;
use super::partial_args::PartialArg;
use super::{GEMINI, keys, tool_results};
use crate::arguments::{arguments_or_none, read_arguments};
use crate::base64;
use crate::image_forms::{
    file_media_type, is_generic_type, is_image_type, is_named_as_image, media_type_of_extension,
};
use crate::json::{Cursor, JsonKind, ReadResult, Rest, keep};

/// Placeholder `thoughtSignature` for a call that Gemini did not produce. It is
/// dropped when read, and the writer adds it again.
pub(super) const PLACEHOLDER_SIGNATURE: &str = "skip_thought_signature_validator";
const ALT_PLACEHOLDER_SIGNATURE: &str = "context_engineering_is_the_way_to_go";

/// Reads the fields of a part; also returns its JSON.
pub(super) fn read_part<'a>(
    cursor: &mut Cursor<'a>,
) -> ReadResult<(GeminiPartFields<'a>, &'a str)> {
    let mut fields = GeminiPartFields::default();
    let ((), raw) = cursor
        .with_raw(|cursor| keys::object(cursor, |key, cursor| fields.read_field(key, cursor)))?;
    Ok((fields, raw))
}

/// The fields of a part, collected in any order.
#[derive(Default)]
pub(super) struct GeminiPartFields<'a> {
    content: Option<PartContent<'a>>,
    /// Whether more than one field holds content.
    ambiguous: bool,
    thought: bool,
    /// The first unknown field, which names the kind of an unknown part.
    unknown: Option<String>,
    rest: Rest,
}

/// The content of a part.
enum PartContent<'a> {
    Text(Cow<'a, str>),
    Inline(InlineData<'a>),
    File(FileData<'a>),
    Call(GeminiFunctionCall<'a>),
    Result(ToolResult),
}

/// `inlineData`.
#[derive(Default)]
struct InlineData<'a> {
    media_type: Cow<'a, str>,
    data: Cow<'a, str>,
    name: Option<String>,
}

/// `fileData`.
#[derive(Default)]
struct FileData<'a> {
    media_type: Option<Cow<'a, str>>,
    url: Cow<'a, str>,
}

/// A `functionCall`, or a fragment of one.
#[derive(Default)]
pub(super) struct GeminiFunctionCall<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Cow<'a, str>,
    pub(super) arguments: Option<Cow<'a, str>>,
    pub(super) partial_args: Vec<PartialArg<'a>>,
    pub(super) continues: bool,
}

impl<'a> GeminiPartFields<'a> {
    fn read_field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            (_, JsonKind::Null) => {}
            ("text", JsonKind::String) => {
                let text = cursor.string()?;
                self.set(PartContent::Text(text));
            }
            ("inlineData", JsonKind::Object) => {
                let blob = self.read_inline_data(cursor)?;
                self.set(PartContent::Inline(blob));
            }
            ("fileData", JsonKind::Object) => {
                let link = self.read_file_data(cursor)?;
                self.set(PartContent::File(link));
            }
            ("functionCall", JsonKind::Object) => {
                let call = self.read_function_call(cursor)?;
                self.set(PartContent::Call(call));
            }
            ("functionResponse", JsonKind::Object) => {
                let result = tool_results::read_function_response(cursor, &mut self.rest)?;
                self.set(PartContent::Result(result));
            }
            ("thought", JsonKind::Bool) => self.thought = cursor.bool()?,
            ("thoughtSignature", JsonKind::String) => {
                let (text, raw) = cursor.with_raw(Cursor::string)?;
                if text != PLACEHOLDER_SIGNATURE && text != ALT_PLACEHOLDER_SIGNATURE {
                    self.rest.push(key, keep(raw));
                }
            }
            _ => {
                if !matches!(key, "mediaResolution" | "videoMetadata" | "partMetadata") {
                    self.unknown.get_or_insert_with(|| key.to_owned());
                }
                self.rest.take(key, cursor)?;
            }
        }
        Ok(())
    }

    fn set(&mut self, content: PartContent<'a>) {
        self.ambiguous |= self.content.is_some();
        self.content = Some(content);
    }

    fn read_inline_data(&mut self, cursor: &mut Cursor<'a>) -> ReadResult<InlineData<'a>> {
        let mut blob = InlineData::default();
        keys::object(cursor, |key, cursor| {
            match (key, cursor.peek()?) {
                ("mimeType", JsonKind::String) => blob.media_type = cursor.string()?,
                ("data", JsonKind::String) => blob.data = cursor.string()?,
                ("displayName", JsonKind::String) => {
                    blob.name = Some(cursor.string()?.into_owned())
                }
                (_, JsonKind::Null) => {}
                _ => self.rest.take(format!("inlineData.{key}"), cursor)?,
            }
            Ok(())
        })?;
        Ok(blob)
    }

    fn read_file_data(&mut self, cursor: &mut Cursor<'a>) -> ReadResult<FileData<'a>> {
        let mut link = FileData::default();
        keys::object(cursor, |key, cursor| {
            match (key, cursor.peek()?) {
                ("mimeType", JsonKind::String) => link.media_type = Some(cursor.string()?),
                ("fileUri", JsonKind::String) => link.url = cursor.string()?,
                (_, JsonKind::Null) => {}
                _ => self.rest.take(format!("fileData.{key}"), cursor)?,
            }
            Ok(())
        })?;
        Ok(link)
    }

    fn read_function_call(
        &mut self,
        cursor: &mut Cursor<'a>,
    ) -> ReadResult<GeminiFunctionCall<'a>> {
        let mut call = GeminiFunctionCall::default();
        keys::object(cursor, |key, cursor| {
            match (key, cursor.peek()?) {
                ("id", JsonKind::String) => call.id = Some(cursor.string()?),
                ("name", JsonKind::String) => call.name = cursor.string()?,
                ("args", _) => call.arguments = Some(read_arguments(cursor)?),
                ("partialArgs", JsonKind::Array) => cursor.array(|cursor| {
                    call.partial_args.push(PartialArg::read(cursor)?);
                    Ok(())
                })?,
                ("willContinue", JsonKind::Bool) => call.continues = cursor.bool()?,
                (_, JsonKind::Null) => {}
                _ => self.rest.take(format!("functionCall.{key}"), cursor)?,
            }
            Ok(())
        })?;
        Ok(call)
    }

    /// Takes the function call and its native fields, if the part is one.
    pub(super) fn take_call(&mut self) -> Option<(GeminiFunctionCall<'a>, Rest)> {
        if self.ambiguous {
            return None;
        }
        match self.content.take() {
            Some(PartContent::Call(call)) => Some((call, std::mem::take(&mut self.rest))),
            other => {
                self.content = other;
                None
            }
        }
    }

    /// Converts to a part; none for an empty text without a signature.
    pub(super) fn into_part(mut self, raw: &str) -> Option<Part> {
        let content = match self.content.take() {
            Some(content) if !self.ambiguous => content,
            Some(_) => return Some(OPAQUE.part("part", raw)),
            None => match &self.unknown {
                Some(kind) => return Some(OPAQUE.part(kind.as_str(), raw)),
                None => PartContent::Text(Cow::Borrowed("")),
            },
        };
        Some(match content {
            PartContent::Text(text) => return self.text_part(text),
            PartContent::Inline(blob) => self.inline_part(blob, raw),
            PartContent::File(link) => self.file_part(link, raw),
            PartContent::Call(call) => Part::ToolCall(ToolCall {
                id: call.id.unwrap_or_default().into_owned(),
                name: call.name.into_owned(),
                arguments: arguments_or_none(call.arguments.unwrap_or_default()),
                native: self.into_native(),
            }),
            PartContent::Result(result) => Part::ToolResult(ToolResult {
                native: self.into_native(),
                ..result
            }),
        })
    }

    fn text_part(mut self, text: Cow<'_, str>) -> Option<Part> {
        if self.thought {
            self.rest.push("field", Json::string("thought"));
            return Some(Part::Reasoning(Reasoning {
                text: text.into_owned(),
                native: self.rest.into_native(GEMINI),
            }));
        }
        let native = self.rest.into_native(GEMINI);
        if text.is_empty() && native.is_none() {
            return None;
        }
        Some(Part::Text(Text {
            text: text.into_owned(),
            native,
        }))
    }

    fn inline_part(mut self, blob: InlineData<'_>, raw: &str) -> Part {
        let Some(data) = base64::decode_either(&blob.data) else {
            return OPAQUE.part("inlineData", raw);
        };
        let media_type = file_media_type(&blob.media_type, &data);
        if is_image_type(&media_type) {
            if let Some(name) = blob.name {
                self.rest
                    .push("inlineData.displayName", Json::string(&name));
            }
            return Part::Image(Image {
                media_type,
                data: data.into(),
                native: self.into_native(),
            });
        }
        self.rest.push("field", Json::string("inlineData"));
        Part::File(File {
            media_type,
            data,
            name: blob.name,
            native: self.into_native(),
        })
    }

    /// Converts a publicly fetchable image; any other `fileData` stays opaque.
    fn file_part(mut self, link: FileData<'_>, raw: &str) -> Part {
        let declared = link.media_type.as_deref().unwrap_or_default();
        let is_image = match is_generic_type(declared) {
            true => is_named_as_image(&link.url),
            false => is_image_type(declared),
        };
        if !is_image || !is_public(&link.url) {
            return OPAQUE.part("fileData", raw);
        }
        let media_type = link
            .media_type
            .filter(|t| *t != image_media_type(&link.url));
        if let Some(media_type) = media_type {
            self.rest
                .push("fileData.mimeType", Json::string(&media_type));
        }
        Part::RemoteImage(RemoteImage {
            url: link.url.into_owned(),
            native: self.into_native(),
        })
    }

    fn into_native(self) -> Option<Box<majordomo_llm::Native>> {
        let mut rest = self.rest;
        if self.thought {
            rest.push("thought", keep("true"));
        }
        rest.into_native(GEMINI)
    }
}

/// Google's file store requires the owner's API key.
fn is_public(url: &str) -> bool {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.starts_with("generativelanguage.googleapis.com/"))
}

/// Returns the media type to declare for an image URL, which Vertex AI requires.
pub(super) fn image_media_type(url: &str) -> &'static str {
    media_type_of_extension(url).unwrap_or("image/jpeg")
}
