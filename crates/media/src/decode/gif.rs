//! GIF: the first frame, on its canvas.

use gif::{ColorOutput, DecodeOptions, MemoryLimit};

use super::place;
use crate::header::Header;
use crate::picture::{Layout, Picture};
use crate::stop::Watched;
use crate::{Format, Problem, Stop};

pub(super) fn decode(data: &[u8], header: &Header, stop: &Stop) -> Result<Picture, Problem> {
    const DAMAGED: Problem = Problem::Damaged(Format::Gif);
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::RGBA);
    options.set_memory_limit(MemoryLimit::Unlimited);
    options.check_lzw_end_code(false);
    let mut decoder = options
        .read_info(Watched::new(data, stop))
        .map_err(|_| DAMAGED)?;
    let frame = decoder
        .next_frame_info()
        .map_err(|_| DAMAGED)?
        .ok_or(DAMAGED)?;
    let (x, y) = (u32::from(frame.left), u32::from(frame.top));
    let (width, height) = (u32::from(frame.width), u32::from(frame.height));
    // A frame may claim to be larger than its screen, which is what was bounded.
    let inside = u64::from(x) + u64::from(width) <= u64::from(header.width)
        && u64::from(y) + u64::from(height) <= u64::from(header.height);
    if !inside || width == 0 || height == 0 {
        return Err(DAMAGED);
    }
    let mut pixels = vec![0; decoder.buffer_size()];
    decoder.read_into_buffer(&mut pixels).map_err(|_| DAMAGED)?;
    let frame = Picture {
        width,
        height,
        layout: Layout::Rgba,
        data: pixels,
    };
    Ok(place(frame, (x, y), (header.width, header.height)))
}
