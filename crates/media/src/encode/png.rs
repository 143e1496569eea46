//! PNG with 8 bits.

use std::io::Write;

use png::{BitDepth, ColorType, Compression, Encoder, Filter};

use crate::picture::{Layout, Picture};

pub(super) fn encode(picture: &Picture, small: bool, out: &mut impl Write) -> Option<()> {
    let picture = picture.packed();
    let mut encoder = Encoder::new(out, picture.width, picture.height);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_color(match picture.layout {
        Layout::Gray => ColorType::Grayscale,
        Layout::Rgba => ColorType::Rgba,
        Layout::Rgb | Layout::Rgbx | Layout::Planes(_) => ColorType::Rgb,
    });
    encoder.set_compression(if small {
        Compression::Balanced
    } else {
        Compression::Fast
    });
    encoder.set_filter(Filter::Adaptive);
    let mut writer = encoder.write_header().ok()?;
    if picture.layout == Layout::Rgbx {
        let rgb: Vec<u8> = picture
            .data
            .as_chunks::<4>()
            .0
            .iter()
            .flat_map(|&[r, g, b, _]| [r, g, b])
            .collect();
        writer.write_image_data(&rgb).ok()?;
    } else {
        writer.write_image_data(&picture.data).ok()?;
    }
    writer.finish().ok()
}
