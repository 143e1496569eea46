//! The header of an image: dimensions, frames, depth, orientation.

use crate::{Format, Orientation};

/// An image as its header describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The sniffed format.
    pub format: Format,
    /// Columns as stored, before orientation is applied.
    pub width: u32,
    /// Rows as stored.
    pub height: u32,
    /// Frames; more than one is an animation.
    pub frames: u32,
    /// Bits per channel.
    pub bit_depth: u8,
    /// Channels as stored; one for a palette.
    pub channels: u8,
    /// The transformation that makes the stored pixels upright.
    pub orientation: Orientation,
    /// Whether the file ends exactly where its format ends.
    pub clean_end: bool,
    /// How the pixels are compressed.
    pub compression: Compression,
}

/// The compression of pixels, to the extent that decoders and their memory depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Baseline or extended sequential JPEG with 8-bit samples (SOF0, SOF1).
    JpegSequential,
    /// Progressive JPEG (SOF2): all coefficients are held until the last scan.
    JpegProgressive,
    /// Any other JPEG process: arithmetic coding, lossless, 12-bit samples.
    JpegOther,
    /// PNG, interlaced or not.
    Png,
    /// GIF.
    Gif,
    /// Lossless WebP (VP8L).
    WebpLossless,
    /// Lossy WebP (a VP8 key frame).
    WebpLossy,
}

impl Header {
    /// The longer side in pixels.
    pub fn longer_side(&self) -> u32 {
        self.width.max(self.height)
    }

    /// Pixels of one frame.
    pub fn pixels(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// Whether the file has more than one frame.
    pub fn is_animated(&self) -> bool {
        self.frames > 1
    }

    /// Width and height of the upright image.
    pub fn upright(&self) -> (u32, u32) {
        self.orientation.upright(self.width, self.height)
    }
}
