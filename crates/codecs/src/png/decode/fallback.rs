//! Any bit depth, colour type and interlacing, by the `png` crate.

use majordomo_image_header::{Format, Header};
use png::{ColorType, Decoder, Limits, Transformations};

use crate::picture::{Layout, Picture};
use crate::stop::StoppableReader;
use crate::{CodecError, Stop};

pub(super) fn decode(data: &[u8], header: &Header, stop: &Stop) -> Result<Picture, CodecError> {
    const DAMAGED: CodecError = CodecError::Damaged(Format::Png);
    // Pixels are bounded by the caller; this bounds everything else.
    let limits = Limits { bytes: 32 << 20 };
    let mut decoder = Decoder::new_with_limits(StoppableReader::new(data, stop), limits);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(|_| DAMAGED)?;
    let size = reader.output_buffer_size().ok_or(DAMAGED)?;
    let mut pixels = vec![0; size];
    let frame = reader.next_frame(&mut pixels).map_err(|_| DAMAGED)?;
    if (frame.width, frame.height) != (header.width, header.height) {
        return Err(DAMAGED);
    }
    pixels.truncate(frame.buffer_size());
    let layout = match frame.color_type {
        ColorType::Grayscale => Layout::Gray,
        ColorType::Rgb => Layout::Rgb,
        ColorType::Rgba => Layout::Rgba,
        ColorType::GrayscaleAlpha => {
            pixels = widen(&pixels);
            Layout::Rgba
        }
        ColorType::Indexed => return Err(DAMAGED),
    };
    Ok(Picture {
        width: frame.width,
        height: frame.height,
        layout,
        data: pixels,
    })
}

/// Expands gray with alpha to RGBA.
fn widen(pixels: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(pixels.len() * 2);
    for &[gray, alpha] in pixels.as_chunks::<2>().0 {
        out.extend_from_slice(&[gray, gray, gray, alpha]);
    }
    out
}
