//! The alpha channel of lossy images (RFC 9649, section 2.7.1.2).

use majordomo_image_header::webp::file_chunks;

use super::decode::DAMAGED;
use super::vp8l;
use crate::memory::Buffer;
use crate::picture::{Layout, Picture, pixel_count};
use crate::{CodecError, Job};

/// Pixels between two polls of the stop flag.
const PIXELS: usize = 64 << 10;

/// Decodes the `ALPH` chunk to one byte per pixel; `None` if there is none.
pub(super) fn decode(
    data: &[u8],
    (width, height): (u32, u32),
    job: &Job,
) -> Result<Option<Buffer>, CodecError> {
    let Some((_, body)) = file_chunks(data).find(|(name, _)| name == b"ALPH") else {
        return Ok(None);
    };
    let (flags, body) = body.split_first().ok_or(DAMAGED)?;
    let pixels = pixel_count(width, height);
    let mut alpha = match flags & 3 {
        0 => {
            let mut alpha = job.memory.with_room(pixels)?;
            alpha.append(body.get(..pixels).ok_or(DAMAGED)?)?;
            alpha
        }
        1 => lossless(body, (width, height), job)?,
        _ => return Err(DAMAGED),
    };
    unfilter(&mut alpha, width as usize, flags >> 2 & 3, job)?;
    Ok(Some(alpha))
}

/// The chunk is a lossless image without its header; alpha is its green channel.
fn lossless(body: &[u8], size: (u32, u32), job: &Job) -> Result<Buffer, CodecError> {
    let rgba = vp8l::decode_headless(body, size, job)?;
    let mut alpha = job.memory.zeroed(pixel_count(size.0, size.1))?;
    let parts = alpha.chunks_mut(PIXELS);
    for (alpha, pixels) in parts.zip(rgba.as_chunks::<4>().0.chunks(PIXELS)) {
        job.check()?;
        for (alpha, pixel) in alpha.iter_mut().zip(pixels) {
            *alpha = pixel[1];
        }
    }
    Ok(alpha)
}

/// Reverses the prediction from the left, above, or both.
fn unfilter(alpha: &mut [u8], width: usize, filter: u8, job: &Job) -> Result<(), CodecError> {
    for row in 0..alpha.len() / width {
        job.check()?;
        let (before, from) = alpha.split_at_mut(row * width);
        let line = &mut from[..width];
        let above = before.len().checked_sub(width).map(|at| &before[at..]);
        match (filter, above) {
            (0, _) => return Ok(()),
            // The first row is predicted from the left, whatever the filter.
            (_, None) => add_left(line, 0),
            (1, Some(above)) => add_left(line, above[0]),
            (2, Some(above)) => {
                for (value, above) in line.iter_mut().zip(above) {
                    *value = value.wrapping_add(*above);
                }
            }
            (_, Some(above)) => {
                let (mut left, mut upper_left) = (above[0], above[0]);
                for (value, above) in line.iter_mut().zip(above) {
                    let gradient = i16::from(left) + i16::from(*above) - i16::from(upper_left);
                    *value = value.wrapping_add(gradient.clamp(0, 255) as u8);
                    (left, upper_left) = (*value, *above);
                }
            }
        }
    }
    Ok(())
}

fn add_left(line: &mut [u8], mut left: u8) {
    for value in line {
        *value = value.wrapping_add(left);
        left = *value;
    }
}

/// Joins colours and alpha.
pub(super) fn join(picture: &Picture, alpha: &[u8], job: &Job) -> Result<Picture, CodecError> {
    let width = picture.width as usize;
    let mut data = job.memory.zeroed(alpha.len() * 4)?;
    let mut rgb = job.memory.zeroed(width * 3)?;
    let rows = data
        .chunks_exact_mut(width * 4)
        .zip(alpha.chunks_exact(width));
    for (row, (out, alpha)) in (0..).zip(rows) {
        job.check()?;
        picture.rgb_row(row, &mut rgb);
        let colors = rgb.as_chunks::<3>().0.iter().zip(alpha);
        for (out, (&[r, g, b], alpha)) in out.as_chunks_mut().0.iter_mut().zip(colors) {
            *out = [r, g, b, *alpha];
        }
    }
    Ok(Picture {
        width: picture.width,
        height: picture.height,
        layout: Layout::Rgba,
        data,
    })
}
