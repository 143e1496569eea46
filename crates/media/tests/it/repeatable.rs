//! The same image and the same limits give the same bytes, whatever was fitted before.

use bytes::Bytes;
use majordomo_llm::{ImageLimits, ImageRef};
use majordomo_media::{Bounds, Fitter};

use crate::mediagen::*;

fn limits() -> Vec<ImageLimits> {
    let only = |kind: &str, max_px| types(&[kind]).with_max_px(Some(max_px));
    vec![
        only("image/jpeg", 700),
        only("image/png", 700),
        only("image/png", 300),
        only("image/jpeg", 300),
        only("image/webp", 90),
        only("image/gif", 140),
        types(&["image/jpeg"]),
        max_bytes(6_000),
    ]
}

fn images() -> Vec<(&'static str, Bytes)> {
    let turned = |e: &mut jpeg_encoder::Encoder<&mut Vec<u8>>| {
        e.add_exif_metadata(&exif(6, &[])).unwrap();
    };
    vec![
        ("jpeg", jpeg(901, 677, smooth)),
        ("turned jpeg", jpeg_with(901, 677, smooth, turned)),
        (
            "progressive jpeg",
            jpeg_with(901, 677, smooth, |e| e.set_progressive(true)),
        ),
        ("png", png(901, 677, screen)),
        (
            "png with alpha",
            rgba_png(901, 677, |x, y| [x as u8, y as u8, 7, (x + y) as u8]),
        ),
        ("gif", gif(901, 677, &[[200, 10, 10]])),
        ("webp", webp::lossless(901, 677, smooth)),
        ("webp with alpha", webp::blank_lossy_alpha(901, 677)),
    ]
}

/// The results of one process for an image, in this order of limits.
fn fitted(fitter: &Fitter, image: &Bytes, limits: &ImageLimits) -> Bytes {
    let request = request(std::slice::from_ref(image));
    let (fitted, _) = block_on(fitter.fit(&request, Some(limits))).unwrap();
    let bytes = fitted.prompt().images().find_map(|image| match image {
        ImageRef::Inline(image) => Some(Bytes::clone(&image.data)),
        _ => None,
    });
    bytes.unwrap()
}

#[test]
fn neither_earlier_targets_nor_the_caches_change_a_result() {
    for (name, image) in images() {
        let alone: Vec<Bytes> = limits()
            .iter()
            .map(|limits| fit(&image, limits).unwrap().data)
            .collect();
        let count = alone.len();
        for first in [0, 3, 5] {
            let fitter = Fitter::new(Bounds::default());
            // Each starts with other limits, and some go backwards.
            for step in 0..count {
                let at = match first % 2 {
                    0 => (first + step) % count,
                    _ => (first + count - step) % count,
                };
                let again = fitted(&fitter, &image, &limits()[at]);
                assert!(again == alone[at], "{name}, limits {at} after {first}");
            }
        }
    }
}
