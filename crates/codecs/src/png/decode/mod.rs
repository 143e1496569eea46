//! PNG.
//!
//! Nearly all files have 8 bits a channel and their rows in order; those are
//! read here. All other kinds, and whatever is odd, are left to a general
//! decoder.

mod fallback;
mod streaming;
mod unfilter;

use majordomo_image_header::Header;

use crate::picture::Picture;
use crate::{CodecError, SizeHint, Stop};

pub(crate) fn decode(
    data: &[u8],
    header: &Header,
    hint: SizeHint,
    stop: &Stop,
) -> Result<Picture, CodecError> {
    if let Some(picture) = streaming::decode(data, header, hint, stop) {
        return Ok(picture);
    }
    stop.check()?;
    fallback::decode(data, header, stop)
}
