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
    let length = picture.width as usize * if has_alpha { 4 } else { 3 };
    let _encoder = job.memory.reserve(length * ROWS + TABLES)?;
    let palette = Palette::of(picture, job)?;
    let color = match (picture.layout, &palette) {
        (Layout::Rgba, _) => ColorType::Rgba,
        (_, Some(_)) => ColorType::Indexed,
        _ if is_gray(picture, job)? => ColorType::Grayscale,
        _ => ColorType::Rgb,
    };
    let (width, columns) = (picture.width as usize, picture.part_columns());
    let mut rgb = job.memory.zeroed(columns * 3)?;
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
    // In parts of rows, so that the budget and the stop flag are checked often.
    let mut rows = writer.stream_writer_with_size(PIECE).map_err(failed)?;
    let mut write = |bytes: &[u8]| {
        for piece in bytes.chunks(PIECE) {
            job.check()?;
            rows.write_all(piece).map_err(|_| CodecError::Failed)?;
        }
        Ok::<(), CodecError>(())
    };
    for row in 0..picture.height {
        if has_alpha {
            let start = row as usize * length;
            write(&picture.data[start..start + length])?;
            continue;
        }
        for column in (0..width).step_by(columns) {
            job.check()?;
            let rgb = &mut rgb[..columns.min(width - column) * 3];
            picture.rgb_part(row, column, rgb);
            let used = match (&palette, color) {
                (Some(palette), _) => palette.pack(rgb),
                (None, ColorType::Grayscale) => keep_first_channel(rgb),
                _ => rgb.len(),
            };
            write(&rgb[..used])?;
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

#[cfg(test)]
mod tests {
    use crate::{Chroma, Encoding, Job, Layout, Picture, SizeHint, decode, encode};
    use majordomo_image_header::measure;

    #[test]
    fn long_rows_are_written_in_parts_and_read_back_exactly() {
        let (width, height) = (2 * super::PIECE as u32 + 13, 2);
        let pixels = width * height;
        let job = Job::unlimited();
        // One bit, two and four bits per pixel, gray, and colours.
        for (layout, values) in [
            (Layout::Gray, 2),
            (Layout::Gray, 3),
            (Layout::Gray, 13),
            (Layout::Gray, 251),
            (Layout::Rgb, 65_521),
        ] {
            let color =
                |at: u32| [at % values, (at % values) >> 8, at % 7].map(|value| value as u8);
            let data: Vec<u8> = match layout {
                Layout::Gray => (0..pixels).map(|at| color(at)[0]).collect(),
                _ => (0..pixels).flat_map(color).collect(),
            };
            let picture = Picture {
                width,
                height,
                layout,
                data: data.into(),
            };
            let file = encode(&picture, Encoding::Png, None, &job);
            let file = file.unwrap().unwrap();
            let header = measure(&file).unwrap();
            let whole = SizeHint::AtLeast((width, height));
            let back = decode(&file, &header, whole, Chroma::Full, &job).unwrap();
            let rgb = |picture: &Picture, row| {
                let mut out = vec![0; width as usize * 3];
                picture.rgb_row(row, &mut out);
                out
            };
            for row in 0..height {
                assert!(rgb(&back, row) == rgb(&picture, row), "{values} values");
            }
        }
    }
}
