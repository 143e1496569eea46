//! WebP: still pictures, and the first frame of animations on its canvas.

use image_webp::{UpsamplingMethod, WebPDecodeOptions, WebPDecoder};

use super::place;
use crate::header::{Header, first_webp_frame};
use crate::picture::{Layout, Picture, area};
use crate::stop::Watched;
use crate::{Format, Problem, Stop};

const DAMAGED: Problem = Problem::Damaged(Format::Webp);

pub(super) fn decode(data: &[u8], header: &Header, stop: &Stop) -> Result<Picture, Problem> {
    let canvas = (header.width, header.height);
    if !header.is_animated() {
        return still(data, canvas, stop);
    }
    let (x, y, frame) = first_webp_frame(data).ok_or(DAMAGED)?;
    let inner = crate::measure(&frame).map_err(|_| DAMAGED)?;
    let inside = u64::from(x) + u64::from(inner.width) <= u64::from(canvas.0)
        && u64::from(y) + u64::from(inner.height) <= u64::from(canvas.1);
    if !inside {
        return Err(DAMAGED);
    }
    let frame = still(&frame, (inner.width, inner.height), stop)?;
    Ok(place(frame, (x, y), canvas))
}

fn still(data: &[u8], (width, height): (u32, u32), stop: &Stop) -> Result<Picture, Problem> {
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
