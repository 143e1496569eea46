//! PNG decoding.
//!
//! 8-bit files without interlacing, by far the most common, are decoded by [`streaming`].
//! Everything else, and every damaged file, goes to [`fallback`].

mod fallback;
mod streaming;
mod unfilter;

use majordomo_image_header::Header;

use crate::picture::Picture;
use crate::{CodecError, Job, SizeHint};

pub(crate) fn decode(
    data: &[u8],
    header: &Header,
    hint: SizeHint,
    job: &Job,
) -> Result<Picture, CodecError> {
    if let Some(picture) = streaming::decode(data, header, hint, job)? {
        return Ok(picture);
    }
    job.check()?;
    fallback::decode(data, header, job)
}
