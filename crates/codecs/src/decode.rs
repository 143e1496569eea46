//! Decoding: dispatches to the decoder of a format.
//!
//! The caller has checked the header against its limits; decoders still trust nothing,
//! count their memory and poll the stop flag of their [`Job`]. A panic in a decoder is
//! caught here and becomes [`CodecError::Failed`].

use std::panic::{AssertUnwindSafe, catch_unwind};

use majordomo_image_header::{Format, Header};

use crate::picture::{Layout, Picture};
use crate::plane::Chroma;
use crate::{CodecError, Job, SizeHint, gif, jpeg, png, webp};

/// Decodes the first frame; orientation and colour profile are not applied.
///
/// The picture is at least as large as the hint, if the file is; a decoder that can skip
/// detail beyond that does, including chroma that the result does not need.
pub fn decode(
    data: &[u8],
    header: &Header,
    hint: SizeHint,
    chroma: Chroma,
    job: &Job,
) -> Result<Picture, CodecError> {
    let work = AssertUnwindSafe(|| match header.format {
        Format::Jpeg => jpeg::decode(data, header, hint.size(), chroma, job),
        Format::Png => png::decode(data, header, hint, job),
        Format::Gif => gif::decode(data, header, job),
        Format::Webp => webp::decode(data, header, job),
        other => Err(CodecError::Unsupported(other)),
    });
    let picture = catch_unwind(work).unwrap_or(Err(CodecError::Failed));
    // A decoder whose input ended reports damage; the cause is the flag.
    job.check()?;
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
