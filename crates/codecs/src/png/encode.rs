//! 8-bit PNG.

use std::io::Write;

use png::{BitDepth, ColorType, Compression, Encoder, Filter};

use crate::picture::{Layout, Picture};

/// Compressed bytes written at once.
const PIECE: usize = 64 << 10;

pub(crate) fn encode(picture: &Picture, small: bool, out: &mut impl Write) -> Option<()> {
    let picture = picture.to_interleaved();
    let mut encoder = Encoder::new(out, picture.width, picture.height);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_color(match picture.layout {
        Layout::Gray => ColorType::Grayscale,
        Layout::Rgba => ColorType::Rgba,
        Layout::Rgb | Layout::Rgbx | Layout::YCbCr(_) => ColorType::Rgb,
    });
    encoder.set_compression(if small {
        Compression::Balanced
    } else {
        Compression::Fast
    });
    encoder.set_filter(Filter::Adaptive);
    let mut writer = encoder.write_header().ok()?;
    // Row by row, so that the budget and the stop flag are checked often.
    let mut rows = writer.stream_writer_with_size(PIECE).ok()?;
    let length = picture.width as usize * picture.layout.bytes_per_pixel()?;
    let mut rgb = Vec::new();
    for row in picture.data.chunks_exact(length) {
        if picture.layout == Layout::Rgbx {
            rgb.clear();
            let pixels = row.as_chunks::<4>().0.iter();
            rgb.extend(pixels.flat_map(|&[r, g, b, _]| [r, g, b]));
            rows.write_all(&rgb).ok()?;
        } else {
            rows.write_all(row).ok()?;
        }
    }
    rows.finish().ok()?;
    writer.finish().ok()
}
