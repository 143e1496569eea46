//! Any bit depth, colour type and interlacing, by the `png` crate.

use majordomo_image_header::{Format, Header};
use png::{ColorType, Decoder, Limits, Transformations};

use crate::memory::Buffer;
use crate::picture::{Layout, Picture};
use crate::stop::StoppableReader;
use crate::{CodecError, Job};

/// The memory that the crate may allocate for chunks that are read whole.
const CHUNKS: usize = 32 << 20;
/// The maximum rows in its buffer of filtered rows, including spare capacity.
const ROWS: usize = 10;
/// Pixels between two polls of the stop flag.
const PIXELS: usize = 64 << 10;

pub(super) fn decode(data: &[u8], header: &Header, job: &Job) -> Result<Picture, CodecError> {
    const DAMAGED: CodecError = CodecError::Damaged(Format::Png);
    let samples = header.width as usize * usize::from(header.channels);
    let row = samples * usize::from(header.bit_depth).div_ceil(8) + 1;
    let whole = row.saturating_mul(header.height as usize);
    let rows = row.saturating_mul(ROWS).min(whole.saturating_mul(2));
    let reservation = job.memory.reserve(rows)?;
    // Pixels are counted here; this bounds everything else.
    let limits = Limits {
        bytes: CHUNKS + header.width as usize * 8,
    };
    let reader = StoppableReader::new(data, &job.stop);
    let mut decoder = Decoder::new_with_limits(reader, limits);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(|_| DAMAGED)?;
    let size = reader.output_buffer_size().ok_or(DAMAGED)?;
    let mut pixels = job.memory.zeroed(size)?;
    let frame = reader.next_frame(&mut pixels).map_err(|_| DAMAGED)?;
    if (frame.width, frame.height) != (header.width, header.height) {
        return Err(DAMAGED);
    }
    drop(reader);
    drop(reservation);
    pixels.truncate(frame.buffer_size());
    let layout = match frame.color_type {
        ColorType::Grayscale => Layout::Gray,
        ColorType::Rgb => Layout::Rgb,
        ColorType::Rgba => Layout::Rgba,
        ColorType::GrayscaleAlpha => {
            pixels = widen(&pixels, job)?;
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
fn widen(pixels: &[u8], job: &Job) -> Result<Buffer, CodecError> {
    let mut out = job.memory.zeroed(pixels.len() * 2)?;
    let parts = out.as_chunks_mut::<4>().0.chunks_mut(PIXELS);
    for (out, pairs) in parts.zip(pixels.as_chunks::<2>().0.chunks(PIXELS)) {
        job.check()?;
        for (out, &[gray, alpha]) in out.iter_mut().zip(pairs) {
            *out = [gray, gray, gray, alpha];
        }
    }
    Ok(out)
}
