//! Opening pictures, one decoder a format.
//!
//! The caller has checked the header against the [`Bounds`](crate::Bounds); a
//! decoder still trusts nothing, looks at the [`Stop`] flag, and may panic: that
//! is caught here and becomes a [`Problem`] like any other.

mod gif;
mod jpeg;
mod png;
mod webp;

#[cfg(test)]
pub(crate) use webp::lossy_webps;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::header::Header;
use crate::picture::{Layout, Picture, area};
use crate::{Format, Problem, Stop};

/// What a picture is opened for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// One target that takes this size, as it is stored.
    Once((u32, u32)),
    /// Several targets, of which the first takes this size.
    Shared((u32, u32)),
}

impl Purpose {
    fn size(self) -> (u32, u32) {
        match self {
            Self::Once(size) | Self::Shared(size) => size,
        }
    }
}

/// Opens the first frame, not turned and not colour-converted yet.
///
/// The picture has at least as many pixels on each side as it is opened for,
/// where the file has them; a decoder that can skip finer detail does.
pub(crate) fn decode(
    data: &[u8],
    header: &Header,
    purpose: Purpose,
    stop: &Stop,
) -> Result<Picture, Problem> {
    let work = AssertUnwindSafe(|| match header.format {
        Format::Jpeg => jpeg::decode(data, header, purpose.size(), stop),
        Format::Png => png::decode(data, header, purpose, stop),
        Format::Gif => gif::decode(data, header, stop),
        Format::Webp => webp::decode(data, header, stop),
        other => Err(Problem::NotOpened(other)),
    });
    let picture = catch_unwind(work).unwrap_or(Err(Problem::DecoderFailed));
    // A decoder that was starved reports damage; the cause is the flag.
    stop.check()?;
    picture.map(with_honest_alpha)
}

/// Transparency that no pixel uses is none.
fn with_honest_alpha(mut picture: Picture) -> Picture {
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
fn place(frame: Picture, (x, y): (u32, u32), (width, height): (u32, u32)) -> Picture {
    if (frame.width, frame.height) == (width, height) {
        return frame;
    }
    let frame = frame.packed();
    let pixel = frame.layout.packed().unwrap_or(4);
    let mut data = vec![0; area(width, height) * 4];
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
