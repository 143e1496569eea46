//! JPEG decoding.
//!
//! Sequential files with one interleaved scan, by far the most common, decode to planes at
//! 1/1, 1/2, 1/4 or 1/8 of their size, the smallest that suffices. Everything else goes to
//! [`fallback`].

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
