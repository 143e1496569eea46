//! 8-bit PNG.

use std::io::Write;

use png::{BitDepth, ColorType, Compression, Encoder, Filter};

use super::palette::Palette;
use crate::picture::{Layout, Picture};
use crate::{CodecError, Job};

/// Compressed bytes written at once.
const PIECE: usize = 64 << 10;
/// Bytes of a row that are not filtered adaptively.
const LONG_ROW: usize = 4 << 20;
/// Rows and tables of the encoder, in rows: the current, the previous, and one for each
/// filter type that is tried.
const ROWS: usize = 8;
/// The hash chains of its compressor.
const TABLES: usize = 1 << 20;

pub(crate) fn encode(
    picture: &Picture,
    small: bool,
    job: &Job,
    out: &mut impl Write,
) -> Result<(), CodecError> {
    let has_alpha = picture.layout == Layout::Rgba;
    let palette = Palette::of(picture, job)?;
    let color = match (picture.layout, &palette) {
        (Layout::Rgba, _) => ColorType::Rgba,
        (_, Some(_)) => ColorType::Indexed,
        _ if is_gray(picture, job)? => ColorType::Grayscale,
        _ => ColorType::Rgb,
    };
    let length = picture.width as usize * if has_alpha { 4 } else { 3 };
    let _encoder = job.memory.reserve(length * ROWS + TABLES)?;
    let mut rgb = job.memory.zeroed(length)?;
    let failed = |_| CodecError::Failed;
    let mut encoder = Encoder::new(out, picture.width, picture.height);
    encoder.set_color(color);
    encoder.set_depth(palette.as_ref().map_or(BitDepth::Eight, Palette::depth));
    encoder.set_compression(if small {
        Compression::Balanced
    } else {
        Compression::Fast
    });
    // Indices are not magnitudes, so differences between them compress worse. Filtering a long
    // row in five ways takes too long.
    encoder.set_filter(match palette {
        Some(_) => Filter::NoFilter,
        None if length > LONG_ROW => Filter::Sub,
        None => Filter::Adaptive,
    });
    if let Some(palette) = &palette {
        encoder.set_palette(palette.colors.concat());
    }
    let mut writer = encoder.write_header().map_err(failed)?;
    // Row by row, so that the budget and the stop flag are checked often.
    let mut rows = writer.stream_writer_with_size(PIECE).map_err(failed)?;
    for row in 0..picture.height {
        job.check()?;
        let bytes = if has_alpha {
            let start = row as usize * length;
            &picture.data[start..start + length]
        } else {
            picture.rgb_row(row, &mut rgb);
            let used = match (&palette, color) {
                (Some(palette), _) => palette.pack(&mut rgb),
                (None, ColorType::Grayscale) => keep_first_channel(&mut rgb),
                _ => length,
            };
            &rgb[..used]
        };
        for piece in bytes.chunks(PIECE) {
            job.check()?;
            rows.write_all(piece).map_err(|_| CodecError::Failed)?;
        }
    }
    rows.finish().map_err(failed)?;
    writer.finish().map_err(failed)
}

/// Moves the first of three channels to the front; returns the length.
fn keep_first_channel(rgb: &mut [u8]) -> usize {
    let count = rgb.len() / 3;
    for at in 0..count {
        rgb[at] = rgb[at * 3];
    }
    count
}

/// Whether all pixels are gray. Gray files have a third of the samples.
fn is_gray(picture: &Picture, job: &Job) -> Result<bool, CodecError> {
    const CHUNK: usize = 3 << 14;
    let all = |bytes: usize, gray: fn(&[u8]) -> bool| {
        for chunk in picture.data.chunks(CHUNK * bytes) {
            job.check()?;
            if !chunk.chunks_exact(bytes).all(gray) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    match picture.layout {
        Layout::Gray => Ok(true),
        Layout::Rgb => all(3, |pixel| pixel[0] == pixel[1] && pixel[1] == pixel[2]),
        Layout::Rgbx => all(4, |pixel| pixel[0] == pixel[1] && pixel[1] == pixel[2]),
        Layout::Rgba => Ok(false),
        Layout::YCbCr(_) => {
            let planes = picture.planes();
            let neutral = |data: &[u8]| data.iter().all(|value| *value == 128);
            Ok(planes.is_some_and(|[_, cb, cr]| neutral(cb.data) && neutral(cr.data)))
        }
    }
}
