//! Reads and writes responses of OpenAI's images API.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Error, ErrorKind, Image, ImageResponse, RawBody, RemoteImage, Result, Usage};

use super::{DIALECT, image};
use crate::base64::{decode_data_url, decode_either, encode_into, write_data_url};
use crate::failure::ErrorBody;
use crate::json::{self, Cursor, JsonKind, ReadError, ReadResult, object};

/// Reads a response. Images that are given by URL stay URLs.
pub fn read_response(body: Bytes) -> Result<ImageResponse> {
    let mut read = ImageResponseFields::default();
    json::read(&body, |cursor| {
        cursor.loose_object(|key, cursor| read.field(key, cursor))
    })
    .map_err(ReadError::in_response)?;
    if let Some(error) = read.error {
        return Err(ErrorBody::inside(error).into_error(None));
    }
    if read.undecodable {
        let text = "an image of the provider's response is not base64";
        return Err(Error::new(ErrorKind::BadResponse, text));
    }
    let format = read.format.map(|format| format!("image/{format}"));
    let images = read.images.into_iter();
    let images = images.map(|data| image(format.as_deref(), data)).collect();
    Ok(ImageResponse::new(images)
        .with_remote(read.remote)
        .with_text(read.text)
        .with_usage(read.usage)
        .with_raw(RawBody::new(DIALECT, body.clone())))
}

#[derive(Default)]
struct ImageResponseFields<'a> {
    images: Vec<Bytes>,
    remote: Vec<RemoteImage>,
    undecodable: bool,
    text: String,
    usage: Usage,
    format: Option<String>,
    error: Option<&'a str>,
}

impl<'a> ImageResponseFields<'a> {
    fn field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            ("data", JsonKind::Array) => cursor.array(|cursor| self.item(cursor))?,
            ("output_format", _) => self.format = cursor.maybe_string()?.map(Into::into),
            ("usage", JsonKind::Object) => self.usage = usage(cursor)?,
            ("error", JsonKind::Object | JsonKind::String) => self.error = Some(cursor.raw()?),
            _ => {
                cursor.raw()?;
            }
        }
        Ok(())
    }

    fn item(&mut self, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        if cursor.peek()? != JsonKind::Object {
            cursor.raw()?;
            return Ok(());
        }
        let (mut data, mut url) = (None, None);
        cursor.loose_object(|key, cursor| {
            match &**key {
                "b64_json" => data = cursor.maybe_string()?,
                "url" => url = cursor.maybe_string()?,
                "revised_prompt" if self.text.is_empty() => {
                    self.text = cursor.optional_text()?.unwrap_or_default();
                }
                _ => {
                    cursor.raw()?;
                }
            }
            Ok(())
        })?;
        let inline = url.as_deref().filter(|url| url.starts_with("data:"));
        let data = data.filter(|data| !data.is_empty());
        let decoded = match (data.as_deref(), inline) {
            (Some(text), _) => Some(decode_either(text)),
            (None, Some(url)) => Some(decode_data_url(url).map(|(_, data)| data)),
            (None, None) => None,
        };
        match (decoded, url) {
            (Some(Some(bytes)), _) => self.images.push(bytes),
            (Some(None), _) => self.undecodable = true,
            (None, Some(url)) if !url.is_empty() => self.remote.push(RemoteImage {
                url: url.into_owned(),
                native: None,
            }),
            _ => {}
        }
        Ok(())
    }
}

fn usage(cursor: &mut Cursor<'_>) -> ReadResult<Usage> {
    let (mut input, mut output, mut images) = (0, 0, 0);
    cursor.loose_object(|key, cursor| {
        match (&**key, cursor.peek()?) {
            ("input_tokens", _) => input = cursor.count()?.unwrap_or(0),
            ("output_tokens", _) => output = cursor.count()?.unwrap_or(0),
            ("input_tokens_details", JsonKind::Object) => cursor.loose_object(|key, cursor| {
                match &**key {
                    "image_tokens" => images = cursor.count()?.unwrap_or(0),
                    _ => {
                        cursor.raw()?;
                    }
                }
                Ok(())
            })?,
            _ => {
                cursor.raw()?;
            }
        }
        Ok(())
    })?;
    Ok(Usage::new(input, output).with_image_input(images.min(input)))
}

/// Writes a response. `created` is a Unix time in seconds; a client that asks for URLs gets
/// images as data URLs.
pub fn write_response(response: &ImageResponse, created: u64, urls: bool) -> Bytes {
    let size: usize = response.images.iter().map(|image| image.data.len()).sum();
    let mut out = BytesMut::with_capacity(size / 3 * 4 + 1_024);
    object(&mut out, |o| {
        o.number("created", created);
        o.array("data", |array| {
            let mut text = Some(&*response.text).filter(|text| !text.is_empty());
            for image in &response.images {
                array.object(|o| {
                    write_image(o.value(if urls { "url" } else { "b64_json" }), image, urls);
                    text.take()
                        .into_iter()
                        .for_each(|text| o.string("revised_prompt", text));
                });
            }
            for remote in &response.remote {
                array.object(|o| o.string("url", &remote.url));
            }
        });
        let usage = response.usage;
        if usage.total() > 0 {
            o.object("usage", |o| {
                o.number("input_tokens", usage.input);
                o.object("input_tokens_details", |o| {
                    o.number("image_tokens", usage.image_input);
                    let texts = usage.input.saturating_sub(usage.image_input);
                    o.number("text_tokens", texts);
                });
                o.number("output_tokens", usage.output);
                o.number("total_tokens", usage.total());
            });
        }
    });
    out.freeze()
}

fn write_image(out: &mut BytesMut, image: &Image, url: bool) {
    if url {
        return write_data_url(&image.media_type, &image.data, out);
    }
    out.extend_from_slice(b"\"");
    encode_into(&image.data, out);
    out.extend_from_slice(b"\"");
}
