//! The header of an image: dimensions, frames, depth, orientation.

use crate::{Format, HeaderError, Orientation, gif, jpeg, png, sniff, webp};

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
    /// How the stored pixels become upright.
    pub orientation: Orientation,
    /// Whether the file ends exactly where its format ends.
    pub clean_end: bool,
    /// How the pixels are compressed.
    pub compression: Compression,
}

/// How pixels are compressed, as far as decoders and their memory depend on it.
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

/// Parses the header of a JPEG, PNG, GIF or WebP.
///
/// ```
/// let gif = b"GIF89a\x20\x00\x10\x00\x00\x00\x00;";
/// let header = majordomo_image_header::measure(gif).unwrap();
/// assert_eq!((header.width, header.height), (32, 16));
/// ```
pub fn measure(data: &[u8]) -> Result<Header, HeaderError> {
    if data.is_empty() {
        return Err(HeaderError::Empty);
    }
    let format = sniff(data).ok_or(HeaderError::Unrecognised)?;
    let header = match format {
        Format::Jpeg => jpeg::measure(data),
        Format::Png => png::measure(data),
        Format::Gif => gif::measure(data),
        Format::Webp => webp::measure(data),
        other => return Err(HeaderError::NotParsed(other)),
    };
    let header = header.ok_or(HeaderError::Damaged(format))?;
    if header.pixels() == 0 {
        return Err(HeaderError::NoPixels);
    }
    Ok(header)
}

pub(crate) fn be16(data: &[u8], at: usize) -> Option<u16> {
    let bytes = data.get(at..)?.first_chunk()?;
    Some(u16::from_be_bytes(*bytes))
}

pub(crate) fn be32(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*bytes))
}

pub(crate) fn le16(data: &[u8], at: usize) -> Option<u16> {
    let bytes = data.get(at..)?.first_chunk()?;
    Some(u16::from_le_bytes(*bytes))
}

pub(crate) fn le24(data: &[u8], at: usize) -> Option<u32> {
    let [a, b, c] = *data.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes([a, b, c, 0]))
}

pub(crate) fn le32(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}
