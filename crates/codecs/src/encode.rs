//! Encoding: dispatches to the encoder of a format.
//!
//! No metadata is written: orientation and profile are already applied, and the rest
//! (location, time) must not leave the machine.

use std::io::{self, Write};

use majordomo_image_header::Format;

use crate::picture::Picture;
use crate::{CodecError, Stop, gif, jpeg, png, webp};

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
            Self::Jpeg(_) | Self::Gif => 65_535,
            Self::Webp => 16_383,
            Self::Png | Self::SmallPng => u32::MAX >> 1,
        }
    }
}

/// Encodes a picture; `None` if the file exceeds the budget in bytes, or the format does
/// not support its dimensions. Polls the [`Stop`] flag.
pub fn encode(
    picture: &Picture,
    coding: Encoding,
    budget: Option<u64>,
    stop: &Stop,
) -> Result<Option<Vec<u8>>, CodecError> {
    if picture.width.max(picture.height) > coding.max_side() {
        return Ok(None);
    }
    let mut out = BudgetedWriter {
        out: Vec::new(),
        budget: budget.map_or(usize::MAX, |bytes| {
            usize::try_from(bytes).unwrap_or(usize::MAX)
        }),
        over: false,
        stop,
    };
    let written = match coding {
        Encoding::Jpeg(quality) => jpeg::encode(picture, quality, &mut out),
        Encoding::Png => png::encode(picture, false, &mut out),
        Encoding::SmallPng => png::encode(picture, true, &mut out),
        Encoding::Webp => webp::encode(picture, &mut out),
        Encoding::Gif => gif::encode(picture, stop, &mut out),
    };
    stop.check()?;
    if out.over {
        return Ok(None);
    }
    written.ok_or(CodecError::Failed)?;
    Ok(Some(out.out))
}

/// A writer that fails once the budget is spent or the work is stopped, so that encoders
/// end early.
struct BudgetedWriter<'a> {
    out: Vec<u8>,
    budget: usize,
    over: bool,
    stop: &'a Stop,
}

impl Write for BudgetedWriter<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if self.stop.is_stopped() {
            return Err(io::Error::other("stopped"));
        }
        if self.out.len() + data.len() > self.budget {
            self.over = true;
            return Err(io::Error::other("over budget"));
        }
        self.out.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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
            data: (0..40 * 30 * 3).map(|at| (at * 7) as u8).collect(),
        };
        let stop = Stop::new();
        let codings = [
            Encoding::Jpeg(85),
            Encoding::Png,
            Encoding::SmallPng,
            Encoding::Webp,
            Encoding::Gif,
        ];
        for coding in codings {
            assert!(encode(&picture, coding, None, &stop).unwrap().is_some());
        }
        stop.stop();
        for coding in codings {
            let written = encode(&picture, coding, None, &stop);
            assert_eq!(written, Err(CodecError::Stopped), "{coding:?}");
        }
    }
}
