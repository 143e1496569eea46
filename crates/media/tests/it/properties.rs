//! Invariants for any image and any limits.

use bytes::Bytes;
use majordomo_llm::{ByteCount, ErrorKind, ImageLimits, ManyImages, Part, PatchLimit, Request};
use majordomo_media::{Fitter, Problem, measure};
use proptest::prelude::*;

use crate::mediagen::*;

fn any_image() -> impl Strategy<Value = Bytes> {
    let draw = prop::sample::select(vec![smooth as Draw, noise, screen]);
    (1_u32..160, 1_u32..160, draw, 0..6_u8, 1_u8..=8).prop_map(
        |(width, height, draw, kind, orientation)| match kind {
            0 => png(width, height, draw),
            1 => jpeg_with(width, height, draw, |e| {
                e.add_exif_metadata(&exif(orientation, &[])).unwrap();
                e.set_progressive(orientation % 2 == 0);
            }),
            2 => gif(width as u16, height as u16, &[[200, 0, 9], [0, 200, 9]]),
            3 => webp::lossless(width, height, draw),
            4 => webp::file(webp::LOSSY_ALPHA),
            _ => rgba_png(width, height, |x, y| [x as u8, y as u8, 128, (x * y) as u8]),
        },
    )
}

fn any_types() -> impl Strategy<Value = Vec<String>> {
    let known = [
        "image/png",
        "image/jpeg",
        "image/gif",
        "image/webp",
        "image/heic",
    ];
    let known: Vec<String> = known.iter().map(|t| (*t).to_owned()).collect();
    prop::sample::subsequence(known, 0..=4)
}

prop_compose! {
    fn any_limits()(
        max_px in prop::option::of(1_u32..200),
        max_bytes in prop::option::of(200_u64..20_000),
        max_total_bytes in prop::option::of(1_000_u64..40_000),
        base64 in any::<bool>(),
        patches in prop::option::of((1_u32..40, 1_u64..60)),
        many in prop::option::of((0_usize..3, 1_u32..100)),
        types in any_types(),
        honours_orientation in any::<bool>(),
        animations in proptest::option::of(any::<bool>()),
    ) -> ImageLimits {
        ImageLimits::default().with_max_count(None).with_max_bytes(max_bytes).with_counted(if base64 { ByteCount::Base64 } else { ByteCount::Raw }).with_max_total_bytes(max_total_bytes).with_max_px(max_px).with_patches(patches.map(|(size, max)| PatchLimit { size, max })).with_many(many.map(|(above, max_px)| ManyImages { above, max_px })).with_types(types).with_honours_orientation(honours_orientation).with_animations(animations)
    }
}

/// Checks every limit independently of the code under test.
fn fits(request: &Request, limits: &ImageLimits) {
    let mut total = 0;
    let count = request.prompt().image_count();
    for part in &request.prompt().messages[0].parts {
        let Part::Image(image) = part else { continue };
        let header = measure(&image.data).unwrap();
        assert_eq!(image.media_type, header.format.media_type());
        assert!(
            limits.allows_type(&image.media_type),
            "{}",
            image.media_type
        );
        let counted = limits.counted.of(image.data.len() as u64);
        total += counted;
        assert!(limits.max_bytes.is_none_or(|max| counted <= max));
        assert!(limits.max_px.is_none_or(|max| header.longer_side() <= max));
        if let Some(many) = limits.many.filter(|many| count > many.above) {
            assert!(header.longer_side() <= many.max_px);
        }
        if let Some(patches) = limits.patches {
            let across = u64::from(header.width.div_ceil(patches.size));
            let down = u64::from(header.height.div_ceil(patches.size));
            assert!(across * down <= patches.max);
        }
        assert!(limits.animations != Some(false) || header.frames == 1);
        assert!(limits.honours_orientation || header.orientation.is_upright());
        assert!(header.clean_end);
    }
    assert!(limits.max_total_bytes.is_none_or(|max| total <= max));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_result_fits_every_limit_or_is_unsupported_and_fitting_twice_changes_nothing(
        images in prop::collection::vec(any_image(), 1..4),
        limits in any_limits(),
    ) {
        let request = request(&images);
        let fitter = Fitter::default();
        match block_on(fitter.fit(&request, Some(&limits))) {
            Ok((fitted, _)) => {
                fits(&fitted, &limits);
                let (again, changes) = block_on(fitter.fit(&fitted, Some(&limits))).unwrap();
                prop_assert!(again.same_prompt(&fitted), "{changes:?}");
            }
            Err(error) => prop_assert_eq!(error.kind(), ErrorKind::Unsupported),
        }
    }

    #[test]
    fn the_aspect_ratio_is_kept_within_one_pixel(
        width in 1_u32..3_000,
        height in 1_u32..3_000,
        max_px in 1_u32..3_000,
    ) {
        let limits = px(max_px);
        let terms = majordomo_media::Terms::of(&limits, 1);
        let (w, h) = terms.largest(width, height).unwrap();
        prop_assert!(w >= 1 && h >= 1 && w <= width && h <= height);
        let scale = f64::from(w.max(h)) / f64::from(width.max(height));
        prop_assert!((f64::from(w) - f64::from(width) * scale).abs() <= 1.0);
        prop_assert!((f64::from(h) - f64::from(height) * scale).abs() <= 1.0);
    }

    #[test]
    fn headers_of_arbitrary_bytes_parse_without_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        magic in prop::sample::select(vec![
            &b""[..], b"\xFF\xD8\xFF", b"\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR", b"GIF89a",
            b"RIFF\0\0\0\0WEBPVP8X", b"RIFF\0\0\0\0WEBPVP8L", b"\0\0\0\x18ftyp", b"BM",
        ]),
    ) {
        let data = [magic, &bytes].concat();
        let _ = measure(&data);
        let problem = fit(&data.into(), &px(10)).err();
        prop_assert!(!matches!(problem, Some(Problem::DecoderFailed)), "{problem:?}");
    }
}
