//! PNG.
//!
//! Nearly all files have 8 bits a channel and their rows in order; those are
//! read here. All other kinds, and whatever is odd, are left to a general
//! decoder.

mod any;
mod plain;
mod unfilter;

use super::Purpose;
use crate::header::Header;
use crate::picture::Picture;
use crate::{Problem, Stop};

pub(super) fn decode(
    data: &[u8],
    header: &Header,
    purpose: Purpose,
    stop: &Stop,
) -> Result<Picture, Problem> {
    if let Some(picture) = plain::decode(data, header, purpose, stop) {
        return Ok(picture);
    }
    stop.check()?;
    any::decode(data, header, stop)
}
