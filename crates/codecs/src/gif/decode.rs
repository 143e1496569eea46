//! The first frame, on its canvas.

use gif::{ColorOutput, DecodeOptions, MemoryLimit};
use majordomo_image_header::{Format, Header};

use crate::canvas::place_on_canvas;
use crate::picture::{Layout, Picture};
use crate::stop::StoppableReader;
use crate::{CodecError, Stop};

pub(crate) fn decode(data: &[u8], header: &Header, stop: &Stop) -> Result<Picture, CodecError> {
    const DAMAGED: CodecError = CodecError::Damaged(Format::Gif);
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::Indexed);
    options.set_memory_limit(MemoryLimit::Unlimited);
    options.check_lzw_end_code(false);
    let mut decoder = options
        .read_info(StoppableReader::new(data, stop))
        .map_err(|_| DAMAGED)?;
    let frame = decoder
        .next_frame_info()
        .map_err(|_| DAMAGED)?
        .ok_or(DAMAGED)?;
    let (x, y) = (u32::from(frame.left), u32::from(frame.top));
    let (width, height) = (u32::from(frame.width), u32::from(frame.height));
    // A frame may claim to exceed the logical screen, whose size was checked.
    let inside = u64::from(x) + u64::from(width) <= u64::from(header.width)
        && u64::from(y) + u64::from(height) <= u64::from(header.height);
    if !inside || width == 0 || height == 0 {
        return Err(DAMAGED);
    }
    let transparent = frame.transparent;
    let colors = colors(decoder.palette().map_err(|_| DAMAGED)?);
    let mut indices = vec![0; decoder.buffer_size()];
    decoder
        .read_into_buffer(&mut indices)
        .map_err(|_| DAMAGED)?;
    let see_through = transparent.filter(|index| indices.contains(index));
    let (layout, data) = match see_through {
        Some(hole) => (Layout::Rgba, with_transparency(&indices, &colors, hole)),
        None => (Layout::Rgb, opaque(&indices, &colors)),
    };
    let frame = Picture {
        width,
        height,
        layout,
        data,
    };
    Ok(place_on_canvas(
        frame,
        (x, y),
        (header.width, header.height),
    ))
}

/// The colour table; missing entries are black.
fn colors(palette: &[u8]) -> [[u8; 3]; 256] {
    let mut colors = [[0; 3]; 256];
    for (color, entry) in colors.iter_mut().zip(palette.as_chunks().0) {
        *color = *entry;
    }
    colors
}

fn opaque(indices: &[u8], colors: &[[u8; 3]; 256]) -> Vec<u8> {
    let mut out = vec![0; indices.len() * 3];
    for (pixel, index) in out.as_chunks_mut().0.iter_mut().zip(indices) {
        *pixel = colors[usize::from(*index)];
    }
    out
}

fn with_transparency(indices: &[u8], colors: &[[u8; 3]; 256], hole: u8) -> Vec<u8> {
    let mut out = vec![0; indices.len() * 4];
    for (pixel, index) in out.as_chunks_mut().0.iter_mut().zip(indices) {
        if *index != hole {
            let [r, g, b] = colors[usize::from(*index)];
            *pixel = [r, g, b, 255];
        }
    }
    out
}
