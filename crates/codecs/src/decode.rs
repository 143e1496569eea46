//! Opening pictures, one decoder a format.
//!
//! The caller has checked the header against the [`Bounds`](crate::Bounds); a
//! decoder still trusts nothing, looks at the [`Stop`] flag, and may panic: that
//! is caught here and becomes a [`CodecError`] like any other.

use std::panic::{AssertUnwindSafe, catch_unwind};

use majordomo_image_header::{Format, Header};

use crate::picture::{Layout, Picture, pixel_count};
use crate::{CodecError, Stop, gif, jpeg, png, webp};

/// What a picture is opened for.
#[derive(Clone, Copy, Debug)]
pub enum SizeHint {
    /// One target that takes this size, as it is stored.
    ReduceTo((u32, u32)),
    /// Several targets, of which the first takes this size.
    AtLeast((u32, u32)),
}

impl SizeHint {
    pub(crate) fn size(self) -> (u32, u32) {
        match self {
            Self::ReduceTo(size) | Self::AtLeast(size) => size,
        }
    }
}

/// Opens the first frame, not turned and not colour-converted yet.
///
/// The picture has at least as many pixels on each side as it is opened for,
/// where the file has them; a decoder that can skip finer detail does.
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
    // A decoder that was starved reports damage; the cause is the flag.
    stop.check()?;
    picture.map(drop_unused_alpha)
}

/// Transparency that no pixel uses is none.
fn drop_unused_alpha(mut picture: Picture) -> Picture {
    if picture.layout == Layout::Rgba {
        // Whole stretches at once: a look at each pixel would take longer.
        let opaque = |pixels: &[[u8; 4]]| pixels.iter().fold(255, |all, pixel| all & pixel[3]);
        let mut stretches = picture.data.as_chunks().0.chunks(1024);
        if stretches.all(|pixels| opaque(pixels) == 255) {
            picture.layout = Layout::Rgbx;
        }
    }
    picture
}

/// Puts the first frame of an animation onto its empty canvas.
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
