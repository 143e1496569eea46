//! Reads the form of an edit.

use bytes::Bytes;
use majordomo_llm::{ImageBody, ImagePrompt, ImageRequest, Json, Native};

use super::form::{self, FormPart};
use super::{DIALECT, MOST_IMAGES, ReadImages, UNSENT, image};
use crate::ReadError;

pub(super) fn read_form(
    content_type: &str,
    boundary: &str,
    body: Bytes,
) -> Result<ReadImages, ReadError> {
    let mut read = FormFields {
        prompt: ImagePrompt::default(),
        native: Native::new(DIALECT),
        model: None,
        stream: false,
        wants_urls: false,
    };
    let parts = form::parts(&body, boundary)?;
    let mut seen: Vec<&str> = Vec::new();
    for part in &parts {
        let is_image = matches!(&*part.name, "image" | "image[]");
        if !is_image && seen.contains(&&*part.name) {
            return Err(ReadError::new(&*part.name, "given twice"));
        }
        seen.push(&part.name);
        let content = body.slice(part.content.clone());
        match part.is_file {
            true => read.file(part, content),
            false => read.text(part, &content)?,
        }
    }
    read.prompt.native = read.native.into_option();
    let body = ImageBody::new(DIALECT, content_type, body);
    Ok(ReadImages {
        model: read.model,
        request: ImageRequest::from_wire(body, read.prompt),
        stream: read.stream,
        wants_urls: read.wants_urls,
    })
}

struct FormFields {
    prompt: ImagePrompt,
    native: Native,
    model: Option<String>,
    stream: bool,
    wants_urls: bool,
}

impl FormFields {
    fn file(&mut self, part: &FormPart, content: Bytes) {
        let media_type = part.media_type.as_deref();
        match &*part.name {
            "image" | "image[]" => self.prompt.images.push(image(media_type, content)),
            "mask" => self.prompt.mask = Some(image(media_type, content)),
            // Its content is only in the client's own bytes.
            name => self.native.push(name, Json::string(UNSENT)),
        }
    }

    fn text(&mut self, part: &FormPart, content: &[u8]) -> Result<(), ReadError> {
        let name = &*part.name;
        let text = std::str::from_utf8(content);
        let text = text.map_err(|_| ReadError::new(name, "not UTF-8"))?;
        let prompt = &mut self.prompt;
        match name {
            "model" => self.model = Some(text.to_owned()),
            "prompt" => text.clone_into(&mut prompt.prompt),
            "negative_prompt" => prompt.negative_prompt = Some(text.to_owned()),
            "sampler" => prompt.sampler = Some(text.to_owned()),
            "n" => {
                prompt.n = Some(count(number(name, text)?).map_err(|e| ReadError::new(name, e))?)
            }
            "steps" => prompt.steps = Some(number(name, text)?),
            "guidance_scale" => {
                let guidance: f64 = number(name, text)?;
                let finite = Some(guidance).filter(|guidance| guidance.is_finite());
                let not_finite = || ReadError::new(name, "expected a number");
                prompt.guidance = Some(finite.ok_or_else(not_finite)?);
            }
            "seed" => prompt.seed = Some(number(name, text)?),
            "size" if text == "auto" => {}
            "size" if text.parse::<majordomo_llm::ImageSize>().is_ok() => {
                prompt.size = text.parse().ok();
            }
            "response_format" => self.wants_urls = text == "url",
            "stream" => self.stream = text == "true",
            "image" | "image[]" | "mask" => {
                return Err(ReadError::new(name, "expected a file"));
            }
            name => self.native.push(name, Json::string(text)),
        }
        Ok(())
    }
}

fn number<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, ReadError> {
    let number = text.trim().parse();
    number.map_err(|_| ReadError::new(name, "expected a number"))
}

/// A number of images.
pub(super) fn count(n: u64) -> Result<std::num::NonZeroU32, String> {
    let n = Some(n).filter(|n| *n <= MOST_IMAGES);
    let n = n.and_then(|n| u32::try_from(n).ok());
    let n = n.and_then(std::num::NonZeroU32::new);
    n.ok_or_else(|| format!("expected a number of images from 1 to {MOST_IMAGES}"))
}
