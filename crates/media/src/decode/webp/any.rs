//! Still pictures without loss, with transparency, and rarities.

use image_webp::{UpsamplingMethod, WebPDecodeOptions, WebPDecoder};

use super::DAMAGED;
use crate::picture::{Layout, Picture, area};
use crate::stop::Watched;
use crate::{Problem, Stop};

pub(super) fn still(
    data: &[u8],
    (width, height): (u32, u32),
    stop: &Stop,
) -> Result<Picture, Problem> {
    let mut options = WebPDecodeOptions::default();
    options.lossy_upsampling = UpsamplingMethod::Simple;
    let reader = Watched::new(data, stop);
    let mut decoder = WebPDecoder::new_with_options(reader, options).map_err(|_| DAMAGED)?;
    if decoder.dimensions() != (width, height) || decoder.is_animated() {
        return Err(DAMAGED);
    }
    let layout = if decoder.has_alpha() {
        Layout::Rgba
    } else {
        Layout::Rgb
    };
    let mut pixels = vec![0; area(width, height) * layout.packed().unwrap_or(4)];
    decoder.read_image(&mut pixels).map_err(|_| DAMAGED)?;
    Ok(Picture {
        width,
        height,
        layout,
        data: pixels,
    })
}
