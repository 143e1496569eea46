//! WebP decoding: still images, and the first frame of an animation on its canvas.
//!
//! Lossy images decode to planes by [`vp8`], their alpha by [`alpha`]; lossless ones by
//! [`vp8l`]. A damaged lossy file goes to [`fallback`].

use majordomo_image_header::{
    Compression, Format, Header, measure,
    webp::{file_chunks, first_frame as first_webp_frame, lossy_frame as lossy_webp_frame},
};

use super::{alpha, fallback, vp8, vp8l};
use crate::canvas::place_on_canvas;
use crate::picture::Picture;
use crate::{CodecError, Job};

pub(super) const DAMAGED: CodecError = CodecError::Damaged(Format::Webp);

pub(crate) fn decode(data: &[u8], header: &Header, job: &Job) -> Result<Picture, CodecError> {
    let canvas = (header.width, header.height);
    if !header.is_animated() {
        return decode_still(data, header, job);
    }
    // The frame is copied, at most the whole file.
    let copy = job.memory.reserve(data.len())?;
    let (x, y, frame) = first_webp_frame(data).ok_or(DAMAGED)?;
    let inner = measure(&frame).map_err(|_| DAMAGED)?;
    let inside = u64::from(x) + u64::from(inner.width) <= u64::from(canvas.0)
        && u64::from(y) + u64::from(inner.height) <= u64::from(canvas.1);
    if !inside {
        return Err(DAMAGED);
    }
    let picture = decode_still(&frame, &inner, job)?;
    drop((frame, copy));
    place_on_canvas(picture, (x, y), canvas, job)
}

fn decode_still(data: &[u8], header: &Header, job: &Job) -> Result<Picture, CodecError> {
    let size = (header.width, header.height);
    if header.compression == Compression::WebpLossless {
        let (_, body) = file_chunks(data)
            .find(|(name, _)| name == b"VP8L")
            .ok_or(DAMAGED)?;
        return vp8l::decode(body, size, header.channels == 4, job);
    }
    if let Some(frame) = lossy_webp_frame(data, header) {
        // Alpha first: its decoder takes more memory than its result.
        let alpha = alpha::decode(data, size, job)?;
        if let Some(picture) = vp8::decode(frame, size, job)? {
            return match alpha {
                Some(alpha) => alpha::join(&picture, &alpha, job),
                None => Ok(picture),
            };
        }
    }
    job.check()?;
    fallback::decode_still(data, size, job)
}
