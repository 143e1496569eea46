//! The first frame of a GIF, on its canvas.

use gif::{ColorOutput, DecodeOptions, MemoryLimit};
use majordomo_image_header::{Format, Header};

use crate::picture::{Layout, Picture, pixel_count};
use crate::stop::StoppableReader;
use crate::{CodecError, Job};

pub(crate) fn decode(data: &[u8], header: &Header, job: &Job) -> Result<Picture, CodecError> {
    const DAMAGED: CodecError = CodecError::Damaged(Format::Gif);
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::Indexed);
    options.set_memory_limit(MemoryLimit::Unlimited);
    options.check_lzw_end_code(false);
    let mut decoder = options
        .read_info(StoppableReader::new(data, &job.stop))
        .map_err(|_| DAMAGED)?;
    let frame = decoder
        .next_frame_info()
        .map_err(|_| DAMAGED)?
        .ok_or(DAMAGED)?;
    let (x, y) = (usize::from(frame.left), usize::from(frame.top));
    let (width, height) = (usize::from(frame.width), usize::from(frame.height));
    let canvas = (header.width as usize, header.height as usize);
    // The canvas was measured to hold the frame.
    if x + width > canvas.0 || y + height > canvas.1 || width == 0 || height == 0 {
        return Err(DAMAGED);
    }
    let transparent = frame.transparent;
    let colors = colors(decoder.palette().map_err(|_| DAMAGED)?);
    let mut indices = job.memory.zeroed(decoder.buffer_size())?;
    decoder
        .read_into_buffer(&mut indices)
        .map_err(|_| DAMAGED)?;
    let see_through = transparent.filter(|index| indices.contains(index));
    let fills = (width, height) == canvas;
    let layout = match see_through.is_none() && fills {
        true => Layout::Rgb,
        false => Layout::Rgba,
    };
    let pixel = layout.bytes_per_pixel().unwrap_or(4);
    let mut data = job
        .memory
        .zeroed(pixel_count(header.width, header.height) * pixel)?;
    let rows = data.chunks_exact_mut(canvas.0 * pixel).skip(y);
    for (row, indices) in rows.zip(indices.chunks_exact(width)) {
        job.check()?;
        let row = &mut row[x * pixel..(x + width) * pixel];
        if layout == Layout::Rgb {
            for (pixel, index) in row.as_chunks_mut().0.iter_mut().zip(indices) {
                *pixel = colors[usize::from(*index)];
            }
            continue;
        }
        for (pixel, index) in row.as_chunks_mut().0.iter_mut().zip(indices) {
            if Some(*index) != see_through {
                let [r, g, b] = colors[usize::from(*index)];
                *pixel = [r, g, b, 255];
            }
        }
    }
    Ok(Picture {
        width: header.width,
        height: header.height,
        layout,
        data,
    })
}

/// The colour table; missing entries are black.
fn colors(palette: &[u8]) -> [[u8; 3]; 256] {
    let mut colors = [[0; 3]; 256];
    for (color, entry) in colors.iter_mut().zip(palette.as_chunks().0) {
        *color = *entry;
    }
    colors
}
