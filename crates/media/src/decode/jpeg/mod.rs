//! JPEG.
//!
//! Nearly all files are sequential with all channels in one scan. Those are read
//! here, in planes and at a half, a quarter or an eighth of their size where
//! that is enough: detail that nobody will see is not computed. All other kinds
//! are left to a general decoder.

mod any;
mod bits;
mod huffman;
mod inverse;
mod layout;
mod sequential;
#[cfg(feature = "turbo")]
mod turbo;

use crate::header::{Coding, Header};
use crate::picture::Picture;
use crate::{Problem, Stop};

pub(super) fn decode(
    data: &[u8],
    header: &Header,
    wanted: (u32, u32),
    stop: &Stop,
) -> Result<Picture, Problem> {
    if header.coding == Coding::Sequential
        && let Some(file) = layout::read(data)
    {
        #[cfg(feature = "turbo")]
        if let Some(picture) = turbo::decode(data, &file, wanted) {
            return Ok(picture);
        }
        return sequential::decode(&file, wanted, stop);
    }
    any::decode(data, header, stop)
}
