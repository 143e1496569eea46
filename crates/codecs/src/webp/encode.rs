//! Lossless WebP, for targets that accept nothing else.

use std::io::Write;

use image_webp::{ColorType, WebPEncoder};

use crate::picture::{Layout, Picture, pixel_count};
use crate::{CodecError, Job};

pub(crate) fn encode(picture: &Picture, job: &Job, out: &mut impl Write) -> Result<(), CodecError> {
    let converted = picture.to_interleaved(job)?;
    let picture = converted.as_ref().unwrap_or(picture);
    let color = match picture.layout {
        Layout::Gray => ColorType::L8,
        Layout::Rgb | Layout::YCbCr(_) => ColorType::Rgb8,
        Layout::Rgba | Layout::Rgbx => ColorType::Rgba8,
    };
    // The encoder converts the picture to four channels.
    let _pixels = job
        .memory
        .reserve(pixel_count(picture.width, picture.height) * 4)?;
    job.check()?;
    WebPEncoder::new(out)
        .encode(&picture.data, picture.width, picture.height, color)
        .map_err(|_| CodecError::Failed)
}
