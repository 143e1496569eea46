//! WebP decoding: still images, and the first frame of an animation on its canvas.
//!
//! Lossy opaque images, the most common, are decoded to planes by [`vp8`]. Everything else, and
//! every damaged file, goes to [`fallback`].

use majordomo_image_header::{
    Format, Header, measure,
    webp::{first_frame as first_webp_frame, lossy_frame as lossy_webp_frame},
};

use super::{fallback, vp8};
use crate::canvas::place_on_canvas;
use crate::picture::Picture;
use crate::{CodecError, Stop};

pub(super) const DAMAGED: CodecError = CodecError::Damaged(Format::Webp);

pub(crate) fn decode(data: &[u8], header: &Header, stop: &Stop) -> Result<Picture, CodecError> {
    let canvas = (header.width, header.height);
    if !header.is_animated() {
        return decode_still(data, header, stop);
    }
    let (x, y, frame) = first_webp_frame(data).ok_or(DAMAGED)?;
    let inner = measure(&frame).map_err(|_| DAMAGED)?;
    let inside = u64::from(x) + u64::from(inner.width) <= u64::from(canvas.0)
        && u64::from(y) + u64::from(inner.height) <= u64::from(canvas.1);
    if !inside {
        return Err(DAMAGED);
    }
    let frame = decode_still(&frame, &inner, stop)?;
    Ok(place_on_canvas(frame, (x, y), canvas))
}

fn decode_still(data: &[u8], header: &Header, stop: &Stop) -> Result<Picture, CodecError> {
    let size = (header.width, header.height);
    if let Some(frame) = lossy_webp_frame(data, header)
        && let Some(picture) = vp8::decode(frame, size, stop)
    {
        return Ok(picture);
    }
    stop.check()?;
    fallback::decode_still(data, size, stop)
}
