//! Encoding: dispatches to the encoder of a format.
//!
//! No metadata is written: orientation and profile are already applied, and other metadata
//! (location, time) must not leave the machine.

use majordomo_image_header::Format;

use crate::budgeted_writer::BudgetedWriter;
use crate::picture::Picture;
use crate::{CodecError, Job, gif, jpeg, png, webp};

/// The format and settings of an encoded file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Baseline JPEG of this quality, 1 to 100.
    Jpeg(u8),
    /// PNG, optimized for speed.
    Png,
    /// PNG, optimized for size.
    SmallPng,
    /// Lossless WebP.
    Webp,
    /// GIF with an optimized palette of 256 colours.
    Gif,
}

impl Encoding {
    /// The format of the encoded file.
    pub fn format(self) -> Format {
        match self {
            Self::Jpeg(_) => Format::Jpeg,
            Self::Png | Self::SmallPng => Format::Png,
            Self::Webp => Format::Webp,
            Self::Gif => Format::Gif,
        }
    }

    /// The longest side that the format supports.
    fn max_side(self) -> u32 {
        match self {
            // libjpeg refuses longer ones, though the format has 16 bits.
            Self::Jpeg(_) => 65_500,
            Self::Gif => 65_535,
            Self::Webp => 16_383,
            Self::Png | Self::SmallPng => u32::MAX >> 1,
        }
    }
}

/// Encodes a picture; `None` if the file exceeds the budget in bytes, or the format does
/// not support its dimensions. JPEG flattens transparency onto white.
pub fn encode(
    picture: &Picture,
    coding: Encoding,
    budget: Option<u64>,
    job: &Job,
) -> Result<Option<Vec<u8>>, CodecError> {
    if picture.width.max(picture.height) > coding.max_side() {
        return Ok(None);
    }
    let mut out = BudgetedWriter::new(budget, job)?;
    let written = match coding {
        Encoding::Jpeg(quality) => jpeg::encode(picture, quality, job, &mut out),
        Encoding::Png => png::encode(picture, false, job, &mut out),
        Encoding::SmallPng => png::encode(picture, true, job, &mut out),
        Encoding::Webp => webp::encode(picture, job, &mut out),
        Encoding::Gif => gif::encode(picture, job, &mut out),
    };
    job.check()?;
    out.finish(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Layout;

    #[test]
    fn no_format_is_encoded_after_a_stop() {
        let picture = Picture {
            width: 40,
            height: 30,
            layout: Layout::Rgb,
            data: (0..40 * 30 * 3)
                .map(|at| (at * 7) as u8)
                .collect::<Vec<u8>>()
                .into(),
        };
        let job = Job::unlimited();
        let codings = [
            Encoding::Jpeg(85),
            Encoding::Png,
            Encoding::SmallPng,
            Encoding::Webp,
            Encoding::Gif,
        ];
        for coding in codings {
            assert!(encode(&picture, coding, None, &job).unwrap().is_some());
        }
        job.stop.stop();
        for coding in codings {
            let written = encode(&picture, coding, None, &job);
            assert_eq!(written, Err(CodecError::Stopped), "{coding:?}");
        }
    }
}
