//! JPEG.
//!
//! Nearly all files are sequential with all channels in one scan. Those are read
//! here, in planes and at a half, a quarter or an eighth of their size where
//! that is enough: detail that nobody will see is not computed. All other kinds
//! are left to a general decoder.

mod bit_reader;
mod fallback;
mod huffman;
mod idct;
mod markers;
mod sequential;
#[cfg(test)]
mod tests;

use majordomo_image_header::{Compression, Header};

use crate::picture::Picture;
use crate::{CodecError, Stop};

pub(crate) fn decode(
    data: &[u8],
    header: &Header,
    wanted: (u32, u32),
    stop: &Stop,
) -> Result<Picture, CodecError> {
    if header.compression == Compression::JpegSequential
        && let Some(file) = markers::parse(data)
    {
        return sequential::decode(&file, wanted, stop);
    }
    fallback::decode(data, header, stop)
}
