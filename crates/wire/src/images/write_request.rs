//! Writes a request in OpenAI's dialect, or forwards a client's body.

use std::hash::{DefaultHasher, Hasher};

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Image, ImageBody, ImagePrompt, ImageRequest, Native};
use memchr::memmem;

use super::{DIALECT, UNSENT, WrittenImages, form, is_edit};
use crate::json::object;
use crate::loss::Losses;
use crate::model_name::with_model;

/// A target of the images API.
#[derive(Clone, Copy, Debug)]
pub struct ImageTarget<'a> {
    /// The model.
    pub model: &'a str,
    /// Whether the server takes the settings of diffusion models: `seed`, `steps`,
    /// `guidance_scale` and `negative_prompt`.
    pub diffusion: bool,
    /// Whether the server has to be asked for base64; newer models always send it.
    pub ask_base64: bool,
}

/// Writes a request. An unedited one of this dialect keeps its client's bytes, except for
/// the model.
pub fn write_request(request: &ImageRequest, target: &ImageTarget<'_>) -> WrittenImages {
    let edits = is_edit(request.prompt());
    let forwarded = request.untouched(&DIALECT);
    if let Some((content_type, body)) = forwarded.and_then(|body| forward(body, target.model)) {
        return WrittenImages {
            content_type,
            body,
            edits,
            losses: Vec::new(),
        };
    }
    let mut losses = Losses::default();
    let fields = fields(request.prompt(), target, &mut losses);
    let (content_type, body) = match edits {
        true => write_form(request.prompt(), &fields),
        false => ("application/json".to_owned(), write_json(&fields)),
    };
    WrittenImages {
        content_type,
        body,
        edits,
        losses: losses.into_vec(),
    }
}

/// The client's body with another model.
fn forward(body: &ImageBody, model: &str) -> Option<(String, Bytes)> {
    let content_type = body.content_type.clone();
    let Some(boundary) = form::boundary(&content_type).ok()? else {
        return Some((content_type, with_model(&body.bytes, model)));
    };
    let parts = form::parts(&body.bytes, boundary).ok()?;
    let named = parts.into_iter().find(|part| part.name == "model")?;
    // The model must not end the part.
    if memmem::find(model.as_bytes(), b"\r\n").is_some() {
        return None;
    }
    let mut out = BytesMut::with_capacity(body.bytes.len() + model.len());
    out.extend_from_slice(&body.bytes[..named.content.start]);
    out.extend_from_slice(model.as_bytes());
    out.extend_from_slice(&body.bytes[named.content.end..]);
    Some((content_type, out.freeze()))
}

/// A field and its value as text, and whether JSON quotes it.
type ImageField = (&'static str, String, bool);

fn fields(prompt: &ImagePrompt, target: &ImageTarget<'_>, losses: &mut Losses) -> ImageFields {
    let text = |name, value: &str| (name, value.to_owned(), true);
    let mut fields: Vec<ImageField> =
        vec![text("model", target.model), text("prompt", &prompt.prompt)];
    let n = prompt.n.map(|n| ("n", n.to_string(), false));
    fields.extend(n);
    fields.extend(prompt.size.map(|size| ("size", size.to_string(), true)));
    let diffusion: [Option<ImageField>; 4] = [
        prompt.seed.map(|seed| ("seed", seed.to_string(), false)),
        prompt
            .steps
            .map(|steps| ("steps", steps.to_string(), false)),
        prompt
            .guidance
            .map(|guidance| ("guidance_scale", guidance.to_string(), false)),
        prompt
            .negative_prompt
            .as_deref()
            .map(|words| text("negative_prompt", words)),
    ];
    for field in diffusion.into_iter().flatten() {
        match (target.diffusion, field.0) {
            (true, _) => fields.push(field),
            (false, "guidance_scale") => losses.add("guidance", NO_FIELD),
            (false, name) => losses.add(name, NO_FIELD),
        }
    }
    if prompt.sampler.is_some() {
        losses.add("sampler", NO_FIELD);
    }
    if target.ask_base64 {
        fields.push(text("response_format", "b64_json"));
    }
    let native = losses.own(prompt.native.as_deref(), &DIALECT);
    ImageFields {
        own: fields,
        native: native.cloned(),
    }
}

const NO_FIELD: &str = "the images API has no such field";

struct ImageFields {
    own: Vec<ImageField>,
    native: Option<Native>,
}

fn write_json(fields: &ImageFields) -> Bytes {
    let mut out = BytesMut::new();
    object(&mut out, |o| {
        for (name, value, quoted) in &fields.own {
            match quoted {
                true => o.string(name, value),
                false => o.raw(name, value),
            }
        }
        o.native(fields.native.as_ref());
    });
    out.freeze()
}

fn write_form(prompt: &ImagePrompt, fields: &ImageFields) -> (String, Bytes) {
    let mut texts: Vec<(&str, &str)> = Vec::new();
    texts.extend(fields.own.iter().map(|(name, value, _)| (*name, &**value)));
    let native = fields.native.iter().flat_map(Native::fields);
    let native: Vec<(&str, String)> = native
        .filter_map(|(name, value)| {
            let text = value.to::<String>();
            let text = text.unwrap_or_else(|_| value.as_str().to_owned());
            (text != UNSENT).then_some((name, text))
        })
        .collect();
    texts.extend(native.iter().map(|(name, value)| (*name, &**value)));
    let mut files: Vec<(&str, &Image)> = Vec::new();
    let name = if prompt.images.len() > 1 {
        "image[]"
    } else {
        "image"
    };
    files.extend(prompt.images.iter().map(|image| (name, image)));
    files.extend(prompt.mask.iter().map(|mask| ("mask", mask)));
    let boundary = unused_boundary(&texts, &files);
    let mut out = BytesMut::new();
    let head = |out: &mut BytesMut, name: &str, rest: &str| {
        let name = name.replace(['"', '\r', '\n'], "_");
        let head = format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"{rest}\r\n\r\n"
        );
        out.extend_from_slice(head.as_bytes());
    };
    for (name, value) in texts {
        head(&mut out, name, "");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    for (number, (name, image)) in files.into_iter().enumerate() {
        let mut media_type = image.media_type.clone();
        media_type.retain(|c| !c.is_control());
        let subtype = media_type.rsplit('/').next().unwrap_or("png");
        let ending: String = subtype
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        let rest = format!(
            "; filename=\"{}.{ending}\"\r\ncontent-type: {media_type}",
            number + 1
        );
        head(&mut out, name, &rest);
        out.extend_from_slice(&image.data);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let content_type = format!("multipart/form-data; boundary={boundary}");
    (content_type, out.freeze())
}

/// A boundary that occurs in no value. It is derived from all values, so that no value can
/// contain the next candidates on purpose.
fn unused_boundary(texts: &[(&str, &str)], files: &[(&str, &Image)]) -> String {
    let values = || {
        let texts = texts.iter().map(|(_, text)| text.as_bytes());
        texts.chain(files.iter().map(|(_, image)| &image.data[..]))
    };
    let mut hasher = DefaultHasher::new();
    values().for_each(|value| hasher.write(value));
    let mut number = hasher.finish();
    loop {
        let boundary = format!("majordomo-form-{number:016x}");
        let finder = memmem::Finder::new(&boundary);
        if values().all(|value| finder.find(value).is_none()) {
            return boundary;
        }
        number = number.wrapping_add(1);
    }
}
