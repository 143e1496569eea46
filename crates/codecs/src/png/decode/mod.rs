//! PNG decoding.
//!
//! 8-bit files without interlacing, by far the most common, are decoded by [`streaming`].
//! Everything else, and every damaged file, goes to [`fallback`].

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
