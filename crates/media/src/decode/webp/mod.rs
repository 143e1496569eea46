//! WebP: still pictures, and the first frame of animations on its canvas.
//!
//! Most files are lossy and opaque. Those are read here, in planes. All other
//! kinds, and whatever is odd, are left to a general decoder.

mod any;
#[cfg(feature = "turbo")]
mod turbo;
mod vp8;

#[cfg(test)]
pub(crate) use vp8::tests::files as lossy_webps;

use super::place;
use crate::header::{Header, first_webp_frame, lossy_webp_frame};
use crate::picture::Picture;
use crate::{Format, Problem, Stop};

const DAMAGED: Problem = Problem::Damaged(Format::Webp);

pub(super) fn decode(data: &[u8], header: &Header, stop: &Stop) -> Result<Picture, Problem> {
    let canvas = (header.width, header.height);
    if !header.is_animated() {
        return still(data, header, stop);
    }
    let (x, y, frame) = first_webp_frame(data).ok_or(DAMAGED)?;
    let inner = crate::measure(&frame).map_err(|_| DAMAGED)?;
    let inside = u64::from(x) + u64::from(inner.width) <= u64::from(canvas.0)
        && u64::from(y) + u64::from(inner.height) <= u64::from(canvas.1);
    if !inside {
        return Err(DAMAGED);
    }
    let frame = still(&frame, &inner, stop)?;
    Ok(place(frame, (x, y), canvas))
}

fn still(data: &[u8], header: &Header, stop: &Stop) -> Result<Picture, Problem> {
    let size = (header.width, header.height);
    let lossy = lossy_webp_frame(data, header);
    if let Some(frame) = lossy
        && let Some(picture) = vp8::decode(frame, size, stop)
    {
        return Ok(picture);
    }
    stop.check()?;
    #[cfg(feature = "turbo")]
    if lossy.is_none()
        && let Some(picture) = turbo::still(data, size)
    {
        return Ok(picture);
    }
    any::still(data, size, stop)
}
