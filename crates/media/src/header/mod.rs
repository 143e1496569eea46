//! What a picture's header says: size, frames, depth, orientation.
//!
//! Nothing is decoded and nothing is allocated, so measuring costs microseconds
//! whatever the picture's size. All readers take hostile bytes.

mod exif;
mod gif;
mod jpeg;
mod png;
mod webp;

use crate::{Format, Orientation, Problem, sniff};

/// A picture as its header describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What it really is.
    pub format: Format,
    /// Columns as stored, before any turning.
    pub width: u32,
    /// Rows as stored.
    pub height: u32,
    /// Pictures in the file; more than one is an animation.
    pub frames: u32,
    /// Bits per channel.
    pub bit_depth: u8,
    /// Channels as stored; one for a palette.
    pub channels: u8,
    /// How the stored pixels must be turned to stand upright.
    pub orientation: Orientation,
    /// Whether the file ends where its format says that it ends.
    pub clean_end: bool,
    /// What only the decoder of this format needs to know.
    pub(crate) coding: Coding,
}

/// How the pixels are coded, as far as bounds and decoders depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Baseline or extended JPEG with 8 bits.
    Sequential,
    /// Progressive JPEG: all coefficients are held until the end.
    Progressive,
    /// A kind of JPEG that nobody uses: arithmetic, lossless, 12 bits.
    Exotic,
    /// PNG; whether it is interlaced makes no difference.
    Png,
    /// GIF.
    Gif,
    /// WebP that lost nothing.
    Lossless,
    /// WebP that is made like a video's key frame.
    Lossy,
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

    /// Whether it moves.
    pub fn is_animated(&self) -> bool {
        self.frames > 1
    }

    /// Width and height of the upright picture.
    pub fn upright(&self) -> (u32, u32) {
        self.orientation.upright(self.width, self.height)
    }
}

/// Reads the header of a JPEG, PNG, GIF or WebP.
///
/// ```
/// let gif = b"GIF89a\x20\x00\x10\x00\x00\x00\x00;";
/// let header = majordomo_media::measure(gif).unwrap();
/// assert_eq!((header.width, header.height), (32, 16));
/// ```
pub fn measure(data: &[u8]) -> Result<Header, Problem> {
    if data.is_empty() {
        return Err(Problem::Empty);
    }
    let format = sniff(data).ok_or(Problem::Unrecognised)?;
    let header = match format {
        Format::Jpeg => jpeg::measure(data),
        Format::Png => png::measure(data),
        Format::Gif => gif::measure(data),
        Format::Webp => webp::measure(data),
        other => return Err(Problem::NotOpened(other)),
    };
    let header = header.ok_or(Problem::Damaged(format))?;
    if header.pixels() == 0 {
        return Err(Problem::NoPixels);
    }
    Ok(header)
}

/// The colour profile inside, if there is one of a sane size.
pub(crate) fn color_profile(data: &[u8], format: Format) -> Option<Vec<u8>> {
    match format {
        Format::Jpeg => jpeg::color_profile(data),
        Format::Png => png::color_profile(data),
        Format::Webp => webp::color_profile(data).map(<[u8]>::to_vec),
        _ => None,
    }
}

pub(crate) use png::chunks as png_chunks;
pub(crate) use webp::{first_frame as first_webp_frame, lossy_frame as lossy_webp_frame};

/// Real profiles have kilobytes; what is larger is ignored like a broken one.
const MAX_PROFILE: usize = 1 << 20;

fn be16(data: &[u8], at: usize) -> Option<u16> {
    let bytes = data.get(at..)?.first_chunk()?;
    Some(u16::from_be_bytes(*bytes))
}

fn be32(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*bytes))
}

fn le16(data: &[u8], at: usize) -> Option<u16> {
    let bytes = data.get(at..)?.first_chunk()?;
    Some(u16::from_le_bytes(*bytes))
}

fn le24(data: &[u8], at: usize) -> Option<u32> {
    let [a, b, c] = *data.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes([a, b, c, 0]))
}

fn le32(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}
