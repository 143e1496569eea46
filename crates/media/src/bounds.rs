//! Limits on the cost of decoding.
//!
//! Checked against the header before a decoder sees the data. A limit on pixels does not
//! bound memory (a 49-megapixel PNG may have four 16-bit channels), so both are limited;
//! `working_set` counts what the decoders hold.

use std::time::Duration;

use majordomo_image_header::{Compression, Header};

use crate::human::{human_bytes, human_megapixels};
use crate::{Orientation, Problem};

/// Limits on decoding one image, and all images together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Pixels of one frame.
    pub max_pixels: u64,
    /// Bytes held while one image is decoded.
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

/// Peak bytes held between decoding and encoding.
pub(crate) fn working_set(header: &Header) -> u64 {
    let channels = u64::from(header.channels);
    let per_pixel = match header.compression {
        // The source's bit depth counts although it is decoded to 8 bits.
        Compression::Png => (channels * u64::from(header.bit_depth.div_ceil(8))).max(4),
        Compression::JpegSequential | Compression::JpegOther => channels.min(3),
        // 16-bit coefficients in addition to the pixels.
        Compression::JpegProgressive => channels * 2 + channels.min(3),
        // One palette index and one pixel.
        Compression::Gif => 5,
        // Luma and chroma planes in addition to the pixels.
        Compression::WebpLossy => channels + 2,
        Compression::WebpLossless => 4 + channels,
    };
    // A picture rotated at full size is held twice.
    let turned = if header.orientation == Orientation::UPRIGHT {
        0
    } else {
        channels.min(4)
    };
    header.pixels().saturating_mul(per_pixel.max(3 + turned))
}
