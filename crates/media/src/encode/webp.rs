//! WebP without loss, for targets that take nothing else.

use std::io::Write;

use image_webp::{ColorType, WebPEncoder};

use crate::picture::{Layout, Picture};

pub(super) fn encode(picture: &Picture, out: &mut impl Write) -> Option<()> {
    let packed = picture.packed();
    let color = match packed.layout {
        Layout::Gray => ColorType::L8,
        Layout::Rgb | Layout::Planes(_) => ColorType::Rgb8,
        Layout::Rgba | Layout::Rgbx => ColorType::Rgba8,
    };
    WebPEncoder::new(out)
        .encode(&packed.data, packed.width, packed.height, color)
        .ok()
}
