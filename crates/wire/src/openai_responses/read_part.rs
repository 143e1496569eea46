//! Reads one content block of a message or of a tool output.

use std::borrow::Cow;

use majordomo_llm::{File, Image, Native, Part, Reasoning, RemoteImage, Text};

use super::RESPONSES;
use super::opaque::OPAQUE;
use crate::base64::decode_data_url;
use crate::image_forms::file_media_type;
use crate::json::{Cursor, JsonKind, ReadResult, Rest, keep};

/// Reads a string, a list of blocks, or `null`.
pub(super) fn read_content(cursor: &mut Cursor<'_>) -> ReadResult<Vec<Part>> {
    let mut parts = Vec::new();
    match cursor.peek()? {
        JsonKind::String => {
            let text = cursor.string()?;
            if !text.is_empty() {
                parts.push(Part::text(text));
            }
        }
        JsonKind::Array => cursor.array(|cursor| {
            parts.push(read_part(cursor)?);
            Ok(())
        })?,
        JsonKind::Null => {
            cursor.raw()?;
        }
        // Invalid, but tools may return anything. An image must be known as one.
        JsonKind::Object => {
            let (part, raw) = cursor.with_raw(read_part)?;
            parts.push(match part.image_count() {
                0 => Part::text(raw),
                _ => part,
            });
        }
        _ => parts.push(Part::text(cursor.raw()?)),
    }
    Ok(parts)
}

fn read_part(cursor: &mut Cursor<'_>) -> ReadResult<Part> {
    match cursor.peek()? {
        JsonKind::String => return cursor.string().map(Part::text),
        JsonKind::Object => {}
        _ => return cursor.raw().map(Part::text),
    }
    let mut fields = ResponsesPartFields::default();
    let ((), raw) = cursor
        .with_raw(|cursor| cursor.object(|key, cursor| fields.read_field(key.clone(), cursor)))?;
    Ok(fields.into_part(raw))
}

#[derive(Default)]
struct ResponsesPartFields<'a> {
    kind: Option<Cow<'a, str>>,
    text: Option<Cow<'a, str>>,
    refusal: Option<Cow<'a, str>>,
    image_url: Option<Cow<'a, str>>,
    file_data: Option<Cow<'a, str>>,
    filename: Option<Cow<'a, str>>,
    /// The text of all other fields.
    others: Vec<(Cow<'a, str>, &'a str)>,
}

impl<'a> ResponsesPartFields<'a> {
    fn read_field(&mut self, key: Cow<'a, str>, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        let slot = match &*key {
            "type" => &mut self.kind,
            "text" => &mut self.text,
            "refusal" => &mut self.refusal,
            "image_url" => &mut self.image_url,
            "file_data" => &mut self.file_data,
            "filename" => &mut self.filename,
            _ => {
                self.others.push((key, cursor.raw()?));
                return Ok(());
            }
        };
        match cursor.peek()? {
            JsonKind::String => *slot = Some(cursor.string()?),
            JsonKind::Null => {}
            _ => self.others.push((key, cursor.raw()?)),
        }
        Ok(())
    }

    fn into_part(mut self, raw: &str) -> Part {
        let kind = self.kind.take().unwrap_or_default();
        let understood = match &*kind {
            "input_text" | "output_text" | "text" => self.text.take().map(|text| {
                Part::Text(Text {
                    text: text.into_owned(),
                    native: self.native(),
                })
            }),
            "refusal" => self.refusal.take().map(|text| {
                Part::Refusal(Text {
                    text: text.into_owned(),
                    native: self.native(),
                })
            }),
            // Only occur in reasoning items, which are kept as a whole.
            "summary_text" | "reasoning_text" => {
                let text = self.text.take();
                text.map(|text| Part::Reasoning(Reasoning::new(text)))
            }
            "input_image" => self.image(),
            "input_file" => self.file(),
            _ => None,
        };
        understood.unwrap_or_else(|| OPAQUE.part(format!("content.{kind}"), raw))
    }

    /// Reads an image; one that is referenced by id is kept verbatim.
    fn image(&mut self) -> Option<Part> {
        let url = self.image_url.take().filter(|url| !url.is_empty())?;
        Some(match decode_data_url(&url) {
            Some((media_type, data)) => Part::Image(Image {
                media_type: media_type.to_owned(),
                data: data.into(),
                native: self.native(),
            }),
            None => Part::RemoteImage(RemoteImage {
                url: url.into_owned(),
                native: self.native(),
            }),
        })
    }

    /// Reads a file; one that is referenced by id or URL is kept verbatim.
    fn file(&mut self) -> Option<Part> {
        let data_url = self.file_data.take()?;
        let (media_type, data) = decode_data_url(&data_url)?;
        let mut native = Native::new(RESPONSES).with("field", keep("\"input_file\""));
        for (name, value) in std::mem::take(&mut self.others) {
            native.push(name, keep(value));
        }
        Some(Part::File(File {
            media_type: file_media_type(media_type, &data),
            data,
            name: self.filename.take().map(Into::into),
            native: native.into_option(),
        }))
    }

    fn native(&mut self) -> Option<Box<Native>> {
        let mut rest = Rest::default();
        for (name, value) in std::mem::take(&mut self.others) {
            let says_nothing = match &*name {
                "annotations" | "logprobs" => is_empty(value),
                "file_id" => value == "null",
                _ => false,
            };
            if !says_nothing {
                rest.push(name, keep(value));
            }
        }
        rest.into_native(RESPONSES)
    }
}

/// Whether a list has no elements.
fn is_empty(list: &str) -> bool {
    let inner = list.strip_prefix('[').and_then(|l| l.strip_suffix(']'));
    inner.is_none_or(|inner| inner.trim().is_empty())
}
