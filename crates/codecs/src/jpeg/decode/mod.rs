//! JPEG decoding.
//!
//! Gray and YCbCr files with Huffman coding, by far the most common, decode to planes at 1/1,
//! 1/2, 1/4 or 1/8 of their size, the smallest that suffices (chroma at twice that scale if
//! all of it is needed): in one pass if the only scan
//! has all components ([`sequential`]), otherwise through coefficients ([`coefficients`]).
//! Everything else goes to [`fallback`].

mod bit_reader;
mod coefficients;
mod fallback;
mod huffman;
mod idct;
mod markers;
mod planes;
mod scan;
mod sequential;
#[cfg(test)]
mod tests;
mod turned;

use majordomo_image_header::{Format, Header, Orientation};

use crate::downscale::downscale_decoded;
use crate::picture::{Layout, Picture};
use crate::plane::Chroma;
use crate::{CodecError, Job};
use bit_reader::BitReader;
use idct::DctScale;
use markers::Segments;

const DAMAGED: CodecError = CodecError::Damaged(Format::Jpeg);

/// Decodes to at least the wanted size, and turns the picture.
pub(crate) fn decode(
    data: &[u8],
    header: &Header,
    (wanted, turn): ((u32, u32), Orientation),
    chroma: Chroma,
    job: &Job,
) -> Result<Picture, CodecError> {
    let size = (header.width, header.height);
    let Some((mut segments, frame, scan)) = Segments::open(data) else {
        return oriented(fallback::decode(data, header, job)?, turn, job);
    };
    if (frame.width, frame.height) != size {
        return Err(DAMAGED);
    }
    let scales = planes::scales(&frame, DctScale::for_size(size, wanted), chroma);
    let one_pass = !frame.progressive && scan.components.len() == frame.components.len();
    let turns_now = one_pass && turned::is_exact(&frame, &scales, turn);
    let mut picture = if one_pass {
        let turn = if turns_now {
            turn
        } else {
            Orientation::UPRIGHT
        };
        sequential::decode(&segments, &frame, &scan, (&scales, turn), job)?
    } else {
        coefficients::decode(&mut segments, &frame, scan, &scales, job)?
    };
    if turns_now {
        return Ok(picture);
    }
    if let Layout::YCbCr(found) = picture.layout
        && (found.width > picture.width || found.height > picture.height)
    {
        // Chroma that is subsampled along one axis is now too large along the other.
        let same = (picture.width, picture.height);
        picture = downscale_decoded(&picture, size, same, chroma, job)?;
    }
    oriented(picture, turn, job)
}

fn oriented(picture: Picture, turn: Orientation, job: &Job) -> Result<Picture, CodecError> {
    match turn.is_upright() {
        true => Ok(picture),
        false => picture.oriented(turn, job),
    }
}

/// The size at which a JPEG of this size is decoded.
pub(crate) fn decoded_size(size: (u32, u32), wanted: (u32, u32)) -> (u32, u32) {
    let scale = DctScale::for_size(size, wanted);
    (scale.of(size.0), scale.of(size.1))
}

/// Counts the MCUs between restart markers.
struct RestartCounter {
    interval: u32,
    left: u32,
}

impl RestartCounter {
    fn new(interval: u32) -> Self {
        Self {
            interval,
            left: interval,
        }
    }

    /// Called before every MCU; skips a restart marker if one is due.
    #[inline(always)]
    fn is_due(&mut self, bits: &mut BitReader<'_>) -> Result<bool, CodecError> {
        if self.interval == 0 {
            return Ok(false);
        }
        let due = self.left == 0;
        if due {
            if !bits.restart() {
                return Err(DAMAGED);
            }
            self.left = self.interval;
        }
        self.left -= 1;
        Ok(due)
    }
}
