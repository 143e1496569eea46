//! Decoding: dispatches to the decoder of a format.
//!
//! The caller has checked the header against its limits; decoders still trust nothing,
//! count their memory and poll the stop flag of their [`Job`]. A panic in a decoder is
//! caught here and becomes [`CodecError::Failed`].

use std::panic::{AssertUnwindSafe, catch_unwind};

use majordomo_image_header::{Format, Header, Orientation};

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
    decode_turned(data, header, (hint, Orientation::UPRIGHT), chroma, job)
}

/// Decodes the first frame at its full size, upright. A JPEG is turned while it is decoded,
/// which takes half the memory of two steps.
pub fn decode_upright(
    data: &[u8],
    header: &Header,
    chroma: Chroma,
    job: &Job,
) -> Result<Picture, CodecError> {
    let whole = SizeHint::ReduceTo((header.width, header.height));
    decode_turned(data, header, (whole, header.orientation), chroma, job)
}

fn decode_turned(
    data: &[u8],
    header: &Header,
    (hint, turn): (SizeHint, Orientation),
    chroma: Chroma,
    job: &Job,
) -> Result<Picture, CodecError> {
    let work = AssertUnwindSafe(|| {
        let picture = match header.format {
            Format::Jpeg => return jpeg::decode(data, header, (hint.size(), turn), chroma, job),
            Format::Png => png::decode(data, header, hint, job),
            Format::Gif => gif::decode(data, header, job),
            Format::Webp => webp::decode(data, header, job),
            other => Err(CodecError::Unsupported(other)),
        };
        match turn.is_upright() {
            true => picture,
            false => picture?.oriented(turn, job),
        }
    });
    let picture = catch_unwind(work).unwrap_or(Err(CodecError::Failed));
    // A decoder whose input ended reports damage; the cause is the flag.
    job.check()?;
    drop_unused_alpha(picture?, job)
}

/// An alpha channel that is opaque everywhere is no transparency.
fn drop_unused_alpha(mut picture: Picture, job: &Job) -> Result<Picture, CodecError> {
    if picture.layout == Layout::Rgba {
        // Chunks, since a check per pixel would take longer.
        let opaque = |pixels: &[[u8; 4]]| pixels.iter().fold(255, |all, pixel| all & pixel[3]);
        for pixels in picture.data.as_chunks().0.chunks(64 << 10) {
            job.check()?;
            if !pixels.chunks(1024).all(|pixels| opaque(pixels) == 255) {
                return Ok(picture);
            }
        }
        picture.layout = Layout::Rgbx;
    }
    Ok(picture)
}
