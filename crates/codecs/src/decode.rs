//! Decoding: dispatches to the decoder of a format.
//!
//! The caller has checked the header against its limits; decoders still trust nothing and
//! poll the [`Stop`] flag. A panic in a decoder is caught here and becomes
//! [`CodecError::Failed`].

use std::panic::{AssertUnwindSafe, catch_unwind};

use majordomo_image_header::{Format, Header};

use crate::picture::{Layout, Picture, pixel_count};
use crate::{CodecError, Stop, gif, jpeg, png, webp};

/// The size that the caller needs, in pixels as stored.
#[derive(Clone, Copy, Debug)]
pub enum SizeHint {
    /// The picture is used once, at this size: it may already be reduced to it.
    ReduceTo((u32, u32)),
    /// The picture is kept for several sizes, of which this is the first: it has at least
    /// this size.
    AtLeast((u32, u32)),
}

impl SizeHint {
    pub(crate) fn size(self) -> (u32, u32) {
        match self {
            Self::ReduceTo(size) | Self::AtLeast(size) => size,
        }
    }
}

/// Decodes the first frame; orientation and colour profile are not applied.
///
/// The picture is at least as large as the hint, if the file is; a decoder that can skip
/// detail beyond that does.
pub fn decode(
    data: &[u8],
    header: &Header,
    hint: SizeHint,
    stop: &Stop,
) -> Result<Picture, CodecError> {
    let work = AssertUnwindSafe(|| match header.format {
        Format::Jpeg => jpeg::decode(data, header, hint.size(), stop),
        Format::Png => png::decode(data, header, hint, stop),
        Format::Gif => gif::decode(data, header, stop),
        Format::Webp => webp::decode(data, header, stop),
        other => Err(CodecError::Unsupported(other)),
    });
    let picture = catch_unwind(work).unwrap_or(Err(CodecError::Failed));
    // A decoder whose input ended reports damage; the cause is the flag.
    stop.check()?;
    picture.map(drop_unused_alpha)
}

/// An alpha channel that is opaque everywhere is no transparency.
fn drop_unused_alpha(mut picture: Picture) -> Picture {
    if picture.layout == Layout::Rgba {
        // Chunks, since a check per pixel would take longer.
        let opaque = |pixels: &[[u8; 4]]| pixels.iter().fold(255, |all, pixel| all & pixel[3]);
        let mut chunks = picture.data.as_chunks().0.chunks(1024);
        if chunks.all(|pixels| opaque(pixels) == 255) {
            picture.layout = Layout::Rgbx;
        }
    }
    picture
}

/// Places the first frame of an animation on its transparent canvas.
pub(crate) fn place_on_canvas(
    frame: Picture,
    (x, y): (u32, u32),
    (width, height): (u32, u32),
) -> Picture {
    if (frame.width, frame.height) == (width, height) {
        return frame;
    }
    let frame = frame.to_interleaved();
    let pixel = frame.layout.bytes_per_pixel().unwrap_or(4);
    let mut data = vec![0; pixel_count(width, height) * 4];
    let rows = data.chunks_exact_mut(width as usize * 4).skip(y as usize);
    let source = frame.data.chunks_exact(frame.width as usize * pixel);
    for (row, source) in rows.zip(source) {
        let row = row[x as usize * 4..].as_chunks_mut::<4>().0;
        for (to, from) in row.iter_mut().zip(source.chunks_exact(pixel)) {
            *to = [
                from[0],
                from[1],
                from[2],
                from.get(3).copied().unwrap_or(255),
            ];
        }
    }
    Picture {
        width,
        height,
        layout: Layout::Rgba,
        data,
    }
}
