//! Damaged lossy images that can still be read, by `image-webp`.

use image_webp::{UpsamplingMethod, WebPDecodeOptions, WebPDecoder};

use super::decode::DAMAGED;
use crate::picture::{Layout, Picture, pixel_count};
use crate::stop::StoppableReader;
use crate::{CodecError, Job};

pub(super) fn decode_still(
    data: &[u8],
    (width, height): (u32, u32),
    job: &Job,
) -> Result<Picture, CodecError> {
    let pixels = pixel_count(width, height);
    // Planes, and alpha as pixels and as bytes.
    let reservation = job.memory.reserve(pixels.saturating_mul(8))?;
    let mut options = WebPDecodeOptions::default();
    options.lossy_upsampling = UpsamplingMethod::Simple;
    let reader = StoppableReader::new(data, &job.stop);
    let mut decoder = WebPDecoder::new_with_options(reader, options).map_err(|_| DAMAGED)?;
    if decoder.dimensions() != (width, height) || decoder.is_animated() {
        return Err(DAMAGED);
    }
    let layout = if decoder.has_alpha() {
        Layout::Rgba
    } else {
        Layout::Rgb
    };
    let pixel = layout.bytes_per_pixel().unwrap_or(4);
    let mut data = job.memory.zeroed(pixels * pixel)?;
    decoder.read_image(&mut data).map_err(|_| DAMAGED)?;
    drop(reservation);
    Ok(Picture {
        width,
        height,
        layout,
        data,
    })
}
