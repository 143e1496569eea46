//! Reads one part: of a conversation, of a tool's answer, or of an answer.

use std::borrow::Cow;

use majordomo_llm::{
    File, Image, Json, Opaque, Part, Reasoning, RemoteImage, Text, ToolCall, ToolResult,
};

use super::partial_args::PartialArg;
use super::{GEMINI, keys, tool_results};
use crate::base64;
use crate::json::{Cursor, JsonKind, ReadResult, Rest, keep};

/// What stands in for the signature of a call that no Gemini made. It is no
/// state: whoever writes such a call again adds it again.
pub(super) const NO_SIGNATURE: &str = "skip_thought_signature_validator";
const NO_SIGNATURE_EITHER: &str = "context_engineering_is_the_way_to_go";

/// Reads the fields of a part, and gives its text.
pub(super) fn fields<'a>(cursor: &mut Cursor<'a>) -> ReadResult<(PartFields<'a>, &'a str)> {
    let mut fields = PartFields::default();
    let ((), raw) =
        cursor.with_raw(|cursor| keys::object(cursor, |key, cursor| fields.read(key, cursor)))?;
    Ok((fields, raw))
}

/// The fields of a part, in whatever order they came.
#[derive(Default)]
pub(super) struct PartFields<'a> {
    content: Option<Content<'a>>,
    /// Set when more than one field says what the part is.
    ambiguous: bool,
    thought: bool,
    /// The first field that nobody knows, which is what an unknown part is.
    unknown: Option<String>,
    rest: Rest,
}

enum Content<'a> {
    Text(Cow<'a, str>),
    Inline(Blob<'a>),
    File(FileLink<'a>),
    Call(Call<'a>),
    Result(ToolResult),
}

#[derive(Default)]
struct Blob<'a> {
    media_type: Cow<'a, str>,
    data: Cow<'a, str>,
    name: Option<String>,
}

#[derive(Default)]
struct FileLink<'a> {
    media_type: Option<Cow<'a, str>>,
    url: Cow<'a, str>,
}

/// A call, or a piece of one.
#[derive(Default)]
pub(super) struct Call<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Cow<'a, str>,
    pub(super) arguments: Option<&'a str>,
    pub(super) partial: Vec<PartialArg<'a>>,
    pub(super) continues: bool,
}

impl<'a> PartFields<'a> {
    fn read(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            (_, JsonKind::Null) => {}
            ("text", JsonKind::String) => {
                let text = cursor.string()?;
                self.set(Content::Text(text));
            }
            ("inlineData", JsonKind::Object) => {
                let blob = self.blob(cursor)?;
                self.set(Content::Inline(blob));
            }
            ("fileData", JsonKind::Object) => {
                let link = self.file_link(cursor)?;
                self.set(Content::File(link));
            }
            ("functionCall", JsonKind::Object) => {
                let call = self.function_call(cursor)?;
                self.set(Content::Call(call));
            }
            ("functionResponse", JsonKind::Object) => {
                let result = tool_results::read(cursor, &mut self.rest)?;
                self.set(Content::Result(result));
            }
            ("thought", JsonKind::Bool) => self.thought = cursor.bool()?,
            ("thoughtSignature", JsonKind::String) => {
                let (text, raw) = cursor.with_raw(Cursor::string)?;
                if text != NO_SIGNATURE && text != NO_SIGNATURE_EITHER {
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

    fn set(&mut self, content: Content<'a>) {
        self.ambiguous |= self.content.is_some();
        self.content = Some(content);
    }

    fn blob(&mut self, cursor: &mut Cursor<'a>) -> ReadResult<Blob<'a>> {
        let mut blob = Blob::default();
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

    fn file_link(&mut self, cursor: &mut Cursor<'a>) -> ReadResult<FileLink<'a>> {
        let mut link = FileLink::default();
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

    fn function_call(&mut self, cursor: &mut Cursor<'a>) -> ReadResult<Call<'a>> {
        let mut call = Call::default();
        keys::object(cursor, |key, cursor| {
            match (key, cursor.peek()?) {
                ("id", JsonKind::String) => call.id = Some(cursor.string()?),
                ("name", JsonKind::String) => call.name = cursor.string()?,
                ("args", JsonKind::Object) => call.arguments = Some(cursor.raw()?),
                ("partialArgs", JsonKind::Array) => cursor.array(|cursor| {
                    call.partial.push(PartialArg::read(cursor)?);
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

    /// The call and its native fields, if the part is nothing else.
    pub(super) fn take_call(&mut self) -> Option<(Call<'a>, Rest)> {
        if self.ambiguous {
            return None;
        }
        match self.content.take() {
            Some(Content::Call(call)) => Some((call, std::mem::take(&mut self.rest))),
            other => {
                self.content = other;
                None
            }
        }
    }

    /// The part; nothing for an empty text without a signature.
    pub(super) fn into_part(mut self, raw: &str) -> Option<Part> {
        let content = match self.content.take() {
            Some(content) if !self.ambiguous => content,
            Some(_) => return Some(opaque("part", raw)),
            None => match &self.unknown {
                Some(kind) => return Some(opaque(kind, raw)),
                None => Content::Text(Cow::Borrowed("")),
            },
        };
        Some(match content {
            Content::Text(text) => return self.text(text),
            Content::Inline(blob) => self.inline(blob, raw),
            Content::File(link) => self.remote(link, raw),
            Content::Call(call) => Part::ToolCall(ToolCall {
                id: call.id.unwrap_or_default().into_owned(),
                name: call.name.into_owned(),
                arguments: call.arguments.unwrap_or("{}").to_owned(),
                native: self.native(),
            }),
            Content::Result(result) => Part::ToolResult(ToolResult {
                native: self.native(),
                ..result
            }),
        })
    }

    fn text(mut self, text: Cow<'_, str>) -> Option<Part> {
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

    fn inline(mut self, blob: Blob<'_>, raw: &str) -> Part {
        let Some(data) = base64::decode_either(&blob.data) else {
            return opaque("inlineData", raw);
        };
        let media_type = blob.media_type.into_owned();
        if media_type.starts_with("image/") {
            if let Some(name) = blob.name {
                self.rest
                    .push("inlineData.displayName", Json::string(&name));
            }
            return Part::Image(Image {
                media_type,
                data,
                native: self.native(),
            });
        }
        self.rest.push("field", Json::string("inlineData"));
        Part::File(File {
            media_type,
            data,
            name: blob.name,
            native: self.native(),
        })
    }

    /// A picture that anybody could fetch; whatever else is named stays as it is.
    fn remote(mut self, link: FileLink<'_>, raw: &str) -> Part {
        let is_image = match &link.media_type {
            Some(media_type) => media_type.starts_with("image/"),
            None => known_extension(&link.url).is_some(),
        };
        if !is_image || !is_public(&link.url) {
            return opaque("fileData", raw);
        }
        let media_type = link.media_type.filter(|t| *t != media_type_of(&link.url));
        if let Some(media_type) = media_type {
            self.rest
                .push("fileData.mimeType", Json::string(&media_type));
        }
        Part::RemoteImage(RemoteImage {
            url: link.url.into_owned(),
            native: self.native(),
        })
    }

    fn native(self) -> Option<Box<majordomo_llm::Native>> {
        let mut rest = self.rest;
        if self.thought {
            rest.push("thought", keep("true"));
        }
        rest.into_native(GEMINI)
    }
}

fn opaque(kind: &str, raw: &str) -> Part {
    Part::Opaque(Opaque {
        origin: GEMINI,
        kind: kind.to_owned(),
        raw: keep(raw),
    })
}

/// Google's own file store answers only with the owner's key.
fn is_public(url: &str) -> bool {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.starts_with("generativelanguage.googleapis.com/"))
}

fn known_extension(url: &str) -> Option<&'static str> {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let (_, extension) = path.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "heic" => "image/heic",
        "heif" => "image/heif",
        _ => return None,
    })
}

/// The type to declare for a picture at an address, since Vertex AI demands one.
pub(super) fn media_type_of(url: &str) -> &'static str {
    known_extension(url).unwrap_or("image/jpeg")
}
