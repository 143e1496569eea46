//! Limits on the cost of decoding.
//!
//! Checked against the header before a decoder sees the data. A limit on pixels does not bound
//! memory (a 49-megapixel PNG may have four 16-bit channels), so both are limited. The header
//! only allows an early refusal and an estimate for admission; the memory that a job actually
//! holds is counted by its [`Memory`](majordomo_codecs::Memory), up to `max_decoded` (ADR
//! 0045).

use std::time::Duration;

use majordomo_codecs::{Chroma, color_profile, decoded_size};
use majordomo_image_header::{Compression, Header};

use crate::Problem;
use crate::human::{human_bytes, human_megapixels};

/// Limits on decoding one image, and all images together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Pixels of one frame.
    pub max_pixels: u64,
    /// Bytes held while one image is decoded, scaled and encoded.
    pub max_decoded: u64,
    /// Frames of an animation; only the first is ever decoded.
    pub max_frames: u32,
    /// Timeout for one image.
    pub max_time: Duration,
    /// Bytes held by all images that are decoded concurrently.
    pub max_decoding: u64,
    /// How long an image may wait for memory and a thread.
    pub max_wait: Duration,
    /// Images processed concurrently.
    pub workers: usize,
    /// Cache of fitted images, in bytes, for other attempts and requests.
    pub kept_fitted: u64,
    /// Cache of decoded pictures, in bytes, for other targets of the same request.
    pub kept_open: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            max_pixels: 50_000_000,
            max_decoded: 256 << 20,
            max_frames: 10_000,
            max_time: Duration::from_secs(2),
            max_decoding: 512 << 20,
            max_wait: Duration::from_secs(5),
            workers: cores.min(4),
            kept_fitted: 32 << 20,
            kept_open: 64 << 20,
        }
    }
}

impl Bounds {
    /// Refuses an image that exceeds the limits.
    pub fn check(&self, header: &Header) -> Result<(), Problem> {
        let refuse = |needed, allowed| Err(Problem::OverBounds { needed, allowed });
        if header.compression == Compression::JpegOther {
            return Err(Problem::RareKind(header.format));
        }
        if header.pixels() > self.max_pixels {
            return refuse(
                human_megapixels(header.pixels()),
                human_megapixels(self.max_pixels),
            );
        }
        if header.frames > self.max_frames {
            return refuse(
                format!("{} frames", header.frames),
                self.max_frames.to_string(),
            );
        }
        let needed = working_set(header);
        if needed > self.max_decoded {
            return refuse(
                format!("{} of memory", human_bytes(needed)),
                human_bytes(self.max_decoded),
            );
        }
        Ok(())
    }
}

/// The minimum bytes for decoding, judged by the header.
fn working_set(header: &Header) -> u64 {
    let channels = u64::from(header.channels);
    let per_pixel = match header.compression {
        // The source's bit depth counts although it is decoded to 8 bits.
        Compression::Png => (channels * u64::from(header.bit_depth.div_ceil(8))).max(4),
        Compression::JpegSequential | Compression::JpegOther => channels.min(3),
        // 16-bit coefficients; chroma may be subsampled.
        Compression::JpegProgressive => channels.min(2) * 2,
        // One palette index and one pixel.
        Compression::Gif => 5,
        // Luma and chroma planes, or alpha and pixels.
        Compression::WebpLossy => {
            if channels == 4 {
                6
            } else {
                2
            }
        }
        Compression::WebpLossless => 4,
    };
    header.pixels().saturating_mul(per_pixel)
}

/// Bytes that a job may hold in addition to pictures: strips, weights, tables, files.
const SCRATCH: u64 = 16 << 20;

/// An estimate of the bytes that fitting takes, for admission; at most the bound.
pub(crate) fn admitted(data: &[u8], header: &Header, stored: (u32, u32), bounds: &Bounds) -> u64 {
    let all = header.pixels();
    let area = |(width, height): (u32, u32)| u64::from(width) * u64::from(height);
    let channels = u64::from(header.channels);
    // Pictures are padded to whole MCUs and macroblocks.
    let decoded_area = |(width, height)| area((width + 16, height + 16));
    let decoded = decoded_size(header, stored, Chroma::Full);
    let decoded = decoded_area((decoded.width, decoded.height));
    let row = u64::from(header.width) * channels;
    let (decoding, picture) = match header.compression {
        Compression::JpegSequential if channels < 4 => (channels * decoded, channels * decoded),
        Compression::JpegProgressive if channels < 4 => {
            let whole = decoded_area((header.width, header.height));
            (channels * (2 * whole + decoded), channels * decoded)
        }
        // CMYK, at full size.
        Compression::JpegSequential | Compression::JpegProgressive | Compression::JpegOther => {
            (12 * all + 1024 * u64::from(header.width), 4 * all)
        }
        // Sixteen bits and alpha are widened; rows are buffered.
        Compression::Png if header.bit_depth == 8 && header.frames == 1 && channels != 2 => {
            (4 * all + (10 * row).min(2 * channels * all), 4 * all)
        }
        Compression::Png => (6 * all + (20 * row).min(4 * channels * all), 4 * all),
        Compression::Gif => (5 * all, 4 * all),
        Compression::WebpLossy if channels == 3 && header.frames == 1 => (2 * decoded, 2 * decoded),
        Compression::WebpLossy => (9 * decoded + data.len() as u64, 4 * decoded),
        Compression::WebpLossless => (8 * all + 64 * data.len() as u64, 4 * all),
    };
    let target = area(stored);
    let scaled = if target == all { 0 } else { 4 };
    let turned = if header.orientation.is_upright() {
        0
    } else {
        4
    };
    let converted = if color_profile(data, header.format).is_some() {
        4
    } else {
        0
    };
    // The encoded file, and the encoder's own memory.
    let encoding = 8;
    let fitting = picture + target * (scaled + turned + converted + encoding);
    (decoding.max(fitting) + SCRATCH).min(bounds.max_decoded)
}
