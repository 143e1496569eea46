//! Reads a request in JSON.

use bytes::Bytes;
use majordomo_llm::{Image, ImageBody, ImagePrompt, ImageRequest, ImageSize};

use super::read_form::count;
use super::{DIALECT, REFERENCES, ReadImages, image};
use crate::ReadError;
use crate::base64::decode_data_url;
use crate::json::{self, Cursor, JsonKind, ReadResult, Rest, keep};

pub(super) fn read_json(content_type: &str, body: Bytes) -> Result<ReadImages, ReadError> {
    let mut read = ImageJsonFields::default();
    json::read(&body, |cursor| {
        cursor.object(|key, cursor| read.field(key, cursor))
    })?;
    read.prompt.native = read.rest.into_native(DIALECT);
    let body = ImageBody::new(DIALECT, content_type, body);
    Ok(ReadImages {
        model: read.model,
        request: ImageRequest::from_wire(body, read.prompt),
        stream: read.stream,
        wants_urls: read.wants_urls,
    })
}

#[derive(Default)]
struct ImageJsonFields {
    prompt: ImagePrompt,
    rest: Rest,
    model: Option<String>,
    stream: bool,
    wants_urls: bool,
}

impl ImageJsonFields {
    fn field(&mut self, key: &str, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        let prompt = &mut self.prompt;
        let text = |cursor: &mut Cursor<'_>| Ok(cursor.string()?.into_owned());
        match key {
            "model" => self.model = cursor.optional(text)?,
            "prompt" => prompt.prompt = text(cursor)?,
            "negative_prompt" => prompt.negative_prompt = cursor.optional(text)?,
            "sampler" => prompt.sampler = cursor.optional(text)?,
            "n" => {
                let fault = cursor.fault("");
                let n = cursor.optional(Cursor::unsigned)?;
                let n = n.map(count).transpose();
                prompt.n = n.map_err(|what| json::Fault {
                    what: what.into(),
                    ..fault
                })?;
            }
            "steps" => {
                let steps = cursor.optional(Cursor::unsigned)?;
                prompt.steps = steps.map(|steps| u32::try_from(steps).unwrap_or(u32::MAX));
            }
            "guidance_scale" => prompt.guidance = cursor.optional(Cursor::float)?,
            "seed" => prompt.seed = cursor.optional(Cursor::signed)?,
            "stream" => self.stream = cursor.optional(Cursor::bool)?.unwrap_or(false),
            "response_format" => {
                let format = cursor.optional(text)?;
                self.wants_urls = format.as_deref() == Some("url");
            }
            "size" => {
                let fork = cursor.fork();
                let asked = cursor.maybe_string()?;
                match asked.as_deref() {
                    None | Some("auto") => {}
                    Some(asked) => match asked.parse::<ImageSize>() {
                        Ok(size) => prompt.size = Some(size),
                        // Such as an aspect ratio: for servers of this dialect only.
                        Err(_) => self.rest.take(key, &mut { fork })?,
                    },
                }
            }
            key if REFERENCES.contains(&key) => {
                let (images, raw) = cursor.with_raw(images)?;
                match images {
                    Some(images) => prompt.images.extend(images),
                    None => self.rest.push(key, keep(raw)),
                }
            }
            key => self.rest.take(key, cursor)?,
        }
        Ok(())
    }
}

/// Images that are all data URLs; `None` if one is a reference.
fn images(cursor: &mut Cursor<'_>) -> ReadResult<Option<Vec<Image>>> {
    let mut all = Some(Vec::new());
    let mut add = |found: Option<Image>| match (found, &mut all) {
        (Some(image), Some(images)) => images.push(image),
        _ => all = None,
    };
    match cursor.peek()? {
        JsonKind::Array => cursor.array(|cursor| {
            add(one_image(cursor)?);
            Ok(())
        })?,
        _ => add(one_image(cursor)?),
    }
    Ok(all)
}

/// A data URL, or an object with one in `image_url`.
fn one_image(cursor: &mut Cursor<'_>) -> ReadResult<Option<Image>> {
    let mut url = None;
    match cursor.peek()? {
        JsonKind::String => url = Some(cursor.string()?),
        JsonKind::Object => cursor.object(|key, cursor| {
            if &**key == "image_url" {
                url = cursor.maybe_string()?;
            } else {
                cursor.raw()?;
            }
            Ok(())
        })?,
        _ => {
            cursor.raw()?;
        }
    }
    let decoded = url.as_deref().and_then(decode_data_url);
    Ok(decoded.map(|(media_type, data)| image(Some(media_type), data)))
}
