//! The entry point of all decoder targets.

use majordomo_llm::ImageLimits;
use majordomo_media::{Bounds, Problem, Stop, Terms, fit_image, measure};

/// Fits a file with these magic bytes and checks the result.
pub fn open(magic: &[u8], rest: &[u8]) {
    let data = bytes::Bytes::from([magic, rest].concat());
    let limits = ImageLimits {
        max_px: Some(64),
        max_bytes: Some(4_096),
        ..ImageLimits::default()
    };
    let bounds = Bounds {
        max_pixels: 4_000_000,
        max_decoded: 64 << 20,
        ..Bounds::default()
    };
    match fit_image(&data, "", &Terms::of(&limits, 1), &bounds, &Stop::new()) {
        Ok(fitted) => {
            let header = measure(&fitted.data).expect("encoded files parse");
            assert!(header.longer_side() <= 64 && fitted.data.len() <= 4_096);
        }
        Err(problem) => assert_ne!(problem, Problem::DecoderFailed),
    }
}
