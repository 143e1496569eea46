//! The API of Stable Diffusion servers (`/sdapi/v1/txt2img`, `/sdapi/v1/img2img`), to which
//! llama-swap forwards by `model`.
//!
//! Unlike OpenAI's images API, it has a seed and the settings of diffusion models.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Error, ErrorKind, Image, ImageRequest, ImageResponse, Result};

use super::{WrittenImages, image, references};
use crate::base64::{decode_data_url, decode_either, encode_into};
use crate::failure::ErrorBody;
use crate::json::{self, JsonKind, ReadError, object};
use crate::loss::{LossVerb, Losses};

/// Writes a request.
///
/// # Errors
///
/// Fails if the request has images that only OpenAI can resolve.
pub fn write_request(request: &ImageRequest, model: &str) -> Result<WrittenImages> {
    let prompt = request.prompt();
    if references(prompt) {
        let text = "it takes images as bytes, not by reference";
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    let mut losses = Losses::default();
    // Fields of OpenAI's dialect have no counterpart.
    let _ = losses.own(prompt.native.as_deref(), &SDAPI);
    let mut out = BytesMut::new();
    object(&mut out, |o| {
        o.string("model", model);
        o.string("prompt", &prompt.prompt);
        if let Some(words) = &prompt.negative_prompt {
            o.string("negative_prompt", words);
        }
        if let Some(size) = prompt.size {
            o.number("width", size.width());
            o.number("height", size.height());
        }
        if let Some(steps) = prompt.steps {
            o.number("steps", steps);
        }
        if let Some(guidance) = prompt.guidance.filter(|guidance| guidance.is_finite()) {
            o.number("cfg_scale", guidance);
        }
        if let Some(sampler) = &prompt.sampler {
            o.string("sampler_name", sampler);
        }
        if let Some(seed) = prompt.seed {
            o.number("seed", seed);
        }
        if let Some(n) = prompt.n {
            o.number("batch_size", n);
        }
        if let Some((edited, others)) = prompt.images.split_first() {
            o.array("init_images", |array| write(array.value(), edited));
            // stable-diffusion.cpp ignores a second `init_images`, but takes references here.
            if !others.is_empty() {
                o.array("extra_images", |array| {
                    others.iter().for_each(|image| write(array.value(), image));
                });
            }
            if let Some(mask) = &prompt.mask {
                write(o.value("mask"), mask);
                let text = "Stable Diffusion changes what is white, and ignores transparency";
                losses.record(LossVerb::Adjusted, "mask", text);
            }
        }
    });
    Ok(WrittenImages {
        content_type: "application/json".to_owned(),
        body: out.freeze(),
        edits: !prompt.images.is_empty(),
        losses: losses.into_vec(),
    })
}

/// The dialect name for fields of this API, which no client speaks.
const SDAPI: majordomo_llm::Dialect = majordomo_llm::Dialect::new("sdapi");

fn write(out: &mut BytesMut, image: &Image) {
    out.extend_from_slice(b"\"");
    encode_into(&image.data, out);
    out.extend_from_slice(b"\"");
}

/// Reads a response.
pub fn read_response(body: &Bytes) -> Result<ImageResponse> {
    let (mut images, mut error, mut undecodable) = (Vec::new(), None, false);
    json::read(body, |cursor| {
        cursor.loose_object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("images", JsonKind::Array) => cursor.array(|cursor| {
                    let text = cursor.string()?;
                    let data = match text.starts_with("data:") {
                        true => decode_data_url(&text).map(|(_, data)| data),
                        false => decode_either(&text),
                    };
                    match data.filter(|data| !data.is_empty()) {
                        Some(data) => images.push(image(None, data)),
                        None => undecodable = true,
                    }
                    Ok(())
                })?,
                ("error", JsonKind::String | JsonKind::Object) => error = Some(cursor.raw()?),
                _ => {
                    cursor.raw()?;
                }
            }
            Ok(())
        })
    })
    .map_err(ReadError::in_response)?;
    if let Some(error) = error.filter(|_| images.is_empty()) {
        return Err(ErrorBody::inside(error).into_error(None));
    }
    if undecodable {
        let text = "an image of the provider's response is not base64";
        return Err(Error::new(ErrorKind::BadResponse, text));
    }
    Ok(ImageResponse::new(images))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_image_of_an_edit_is_where_servers_read_it() {
        let request = ImageRequest::new("a pear")
            .image(Image::new("image/png", "one"))
            .image(Image::new("image/png", "two"))
            .image(Image::new("image/png", "six"))
            .mask(Image::new("image/png", "cut"));
        let written = write_request(&request, "sdxl").unwrap();
        let expected = r#"{"model":"sdxl","prompt":"a pear","init_images":["b25l"],"extra_images":["dHdv","c2l4"],"mask":"Y3V0"}"#;
        assert_eq!(written.body, expected);
        assert!(written.edits);
        let listed: Vec<_> = written.losses.iter().map(|loss| &*loss.field).collect();
        assert_eq!(listed, ["mask"], "its meaning differs");
    }
}
