//! The entry point of all decoder targets.

use majordomo_llm::ImageLimits;
use majordomo_media::{Bounds, Problem, Stop, Terms, fit_image, measure};

/// Fits a file with these magic bytes and checks the result.
pub fn open(magic: &[u8], rest: &[u8]) {
    let data = bytes::Bytes::from([magic, rest].concat());
    let limits = limits(rest.len());
    let bounds = Bounds {
        max_pixels: 4_000_000,
        max_decoded: 64 << 20,
        ..Bounds::default()
    };
    match fit_image(&data, "", &Terms::of(&limits, 1), &bounds, &Stop::new()) {
        Ok(fitted) => {
            let header = measure(&fitted.data).expect("encoded files parse");
            assert!(limits.max_px.is_none_or(|most| header.longer_side() <= most));
            assert!(limits.max_bytes.is_none_or(|most| fitted.data.len() as u64 <= most));
            assert!(limits.types.is_empty() || limits.types.contains(&fitted.media_type));
        }
        Err(problem) => assert_ne!(problem, Problem::DecoderFailed),
    }
}

/// Limits that lead to every scale of the decoders and to every encoder. The length of the
/// file selects them, so that a mutation of its bytes keeps its way.
fn limits(length: usize) -> ImageLimits {
    let only = |kind: &str, max_px| ImageLimits::default().with_max_px(max_px).with_types(vec![kind.to_owned()]);
    match length % 8 {
        0 => only("image/jpeg", None),
        1 => only("image/png", None),
        2 => only("image/png", Some(24)),
        3 => only("image/webp", Some(33)),
        4 => only("image/gif", None),
        5 => only("image/jpeg", Some(9)),
        _ => ImageLimits::default().with_max_px(Some(64)).with_max_bytes(Some(4_096)),
    }
}
