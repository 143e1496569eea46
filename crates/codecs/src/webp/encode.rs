//! Lossless WebP, for targets that accept nothing else.

use std::io::Write;

use image_webp::{ColorType, WebPEncoder};

use crate::picture::{Layout, Picture};

pub(crate) fn encode(picture: &Picture, out: &mut impl Write) -> Option<()> {
    let packed = picture.to_interleaved();
    let color = match packed.layout {
        Layout::Gray => ColorType::L8,
        Layout::Rgb | Layout::YCbCr(_) => ColorType::Rgb8,
        Layout::Rgba | Layout::Rgbx => ColorType::Rgba8,
    };
    WebPEncoder::new(out)
        .encode(&packed.data, packed.width, packed.height, color)
        .ok()
}
