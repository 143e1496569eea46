//! Files that are small on disk and large in memory, or slow to decode.

use std::time::Duration;

use bytes::Bytes;
use majordomo_llm::ImageLimits;
use majordomo_media::{Format, Problem, Terms, measure, plan, sniff};

use crate::mediagen::*;

fn refused_at_once(name: &str, data: &Bytes) {
    let limits = px(1000);
    let problem = fit(data, &limits).unwrap_err();
    assert!(
        matches!(problem, Problem::OverBounds { .. } | Problem::Damaged(_)),
        "{name}: {problem:?}"
    );
    let time = average(20, || drop(fit(data, &limits)));
    assert!(time < Duration::from_millis(5), "{name}: {time:?}");
}

#[test]
fn huge_pngs_are_refused_by_their_header() {
    refused_at_once("60,000² of 1 bit", &forge::blank_png(60_000, 60_000, 1, 0));
    let header = forge::png(&[(b"IHDR", forge::ihdr(100_000, 100_000, 8, 2))]);
    refused_at_once("100,000², header only", &header);
}

#[test]
fn decoded_bytes_are_bounded_and_not_only_pixels() {
    let deep = forge::png(&[
        (b"IHDR", forge::ihdr(7_000, 7_000, 16, 6)),
        (b"IDAT", vec![]),
        (b"IEND", vec![]),
    ]);
    refused_at_once("7,000² with 16 bits and alpha", &deep);
    let text = fit(&deep, &px(1000)).unwrap_err().to_string();
    assert_eq!(
        text,
        "decoding it would take 392 MB of memory, and at most 268 MB are allowed"
    );
}

#[test]
fn decompression_bombs_in_metadata_are_skipped() {
    let bomb = forge::zeros(64 << 20);
    let mut profile = b"x\0\0".to_vec();
    profile.extend_from_slice(&bomb);
    let mut text = b"k\0\x01\0\0\0".to_vec();
    text.extend_from_slice(&bomb);
    let mut comment = b"k\0\0".to_vec();
    comment.extend_from_slice(&bomb);
    let data = forge::png_with(&[(b"iCCP", profile), (b"iTXt", text), (b"zTXt", comment)]);
    let fitted = fit(&data, &types(&["image/jpeg"])).unwrap();
    assert!(fitted.data.len() < 2_000);
}

#[test]
fn a_huge_gif_is_refused_and_only_the_first_frame_is_decoded() {
    let mut huge = forge::gif_header(65_535, 65_535);
    huge.push(0x3B);
    refused_at_once("65,535²", &huge.into());

    let still = gif(4_000, 4_000, &[[200, 10, 10], [10, 200, 10]]);
    let at = still.iter().position(|byte| *byte == 0x2C).unwrap() + 10;
    let end = still[at..]
        .windows(2)
        .position(|w| w == [0x00, 0x21])
        .unwrap();
    let frames = |count| forge::gif_bomb(4_000, 4_000, count, &still[at..at + end + 1]);
    let (one, many) = (frames(1), frames(2_000));
    assert_eq!(measure(&many).unwrap().frames, 2_000);
    let limits = px(1000);
    let fitted = fit(&many, &limits).unwrap();
    assert!(
        fitted.data == fit(&one, &limits).unwrap().data,
        "all that is seen is the first frame"
    );
    // Further frames would take 2,000 times as long, or fail: they are truncated.
    let of_first = fastest(3, || drop(fit(&one, &limits)));
    let time = fastest(3, || drop(fit(&many, &limits)));
    let allowed = of_first * 3 + Duration::from_millis(50);
    assert!(time < allowed, "{time:?}, the first alone {of_first:?}");
}

#[test]
fn an_animated_webp_is_refused_by_its_canvas_size() {
    let frame = |n: u32| (b"ANMF", vec![n as u8; 40]);
    let mut chunks = vec![(b"VP8X", webp::vp8x(0x02, 16_384, 16_384))];
    chunks.push((b"ANIM", vec![0; 6]));
    let inner = webp::chunks(&webp::lossless(8, 8, smooth));
    let mut first = vec![0; 16];
    first[6] = 7;
    first[9] = 7;
    first.extend_from_slice(b"VP8L");
    first.extend_from_slice(&(inner[0].1.len() as u32).to_le_bytes());
    first.extend_from_slice(&inner[0].1);
    chunks.push((b"ANMF", first));
    chunks.extend((0..299).map(frame));
    let bomb = webp::riff(&chunks);
    assert_eq!(measure(&bomb).unwrap().frames, 300);
    refused_at_once("16,384² × 300", &bomb);
    assert!(fit(&webp::lossless(64, 64, smooth), &px(32)).is_ok());
}

#[test]
fn webp_with_inconsistent_or_enormous_dimensions_is_refused() {
    let inner = webp::chunks(&webp::lossless(8, 8, smooth))[0].1.clone();
    let lying = webp::riff(&[(b"VP8X", webp::vp8x(0, 16, 16)), (b"VP8L", inner.clone())]);
    assert_eq!(measure(&lying).unwrap_err(), Problem::Damaged(Format::Webp));
    let canvas = webp::riff(&[(b"VP8X", webp::vp8x(0, 1 << 24, 1 << 24)), (b"VP8L", inner)]);
    assert_eq!(
        measure(&canvas).unwrap_err(),
        Problem::Damaged(Format::Webp)
    );
    let mut largest = vec![0x2F];
    largest.extend_from_slice(&(16_382_u32 | 16_382 << 14).to_le_bytes());
    largest.extend_from_slice(&[0; 100]);
    refused_at_once("16,383² lossless", &webp::riff(&[(b"VP8L", largest)]));
}

#[test]
fn unusual_jpegs_are_refused_or_bounded() {
    refused_at_once("65,535²", &forge::jpeg_header(65_535, 65_535, 0xC0, 8));
    refused_at_once("progressive", &forge::jpeg_header(65_535, 65_535, 0xC2, 8));
    for (name, marker, depth) in [
        ("lossless", 0xC3, 8),
        ("arithmetic", 0xC9, 8),
        ("12 bits", 0xC1, 12),
    ] {
        let data = forge::jpeg_header(64, 64, marker, depth);
        let problem = fit(&data, &px(32)).unwrap_err();
        assert_eq!(problem, Problem::RareKind(Format::Jpeg), "{name}");
    }
    // Height zero: a DNL marker after the scan defines it.
    let unknown = forge::jpeg_header(64, 0, 0xC0, 8);
    assert_eq!(fit(&unknown, &px(32)).unwrap_err(), Problem::NoPixels);
}

#[test]
fn a_jpeg_with_ten_thousand_scans_finishes_in_time() {
    let original = jpeg_with(512, 512, smooth, |e| e.set_progressive(true));
    let marker = |at: usize| original[at] == 0xFF && original[at + 1] == 0xDA;
    let scans: Vec<usize> = (2..original.len() - 1).filter(|at| marker(*at)).collect();
    let scan = &original[scans[1]..scans[2]];
    let mut flood = original[..scans[2]].to_vec();
    for _ in 0..10_000 {
        flood.extend_from_slice(scan);
    }
    flood.extend_from_slice(&original[scans[2]..]);
    let flood = Bytes::from(flood);
    let time = fastest(1, || drop(fit(&flood, &px(64))));
    assert!(time < Duration::from_secs(2), "{time:?}");
}

#[test]
fn a_flood_of_restart_markers_finishes_in_time() {
    let mut data = jpeg(64, 64, smooth).to_vec();
    data.truncate(data.len() - 2);
    for n in 0..1_000_000_u32 {
        data.extend_from_slice(&[0xFF, 0xD0 + (n % 8) as u8]);
    }
    data.extend_from_slice(&[0xFF, 0xD9]);
    let data = Bytes::from(data);
    let time = fastest(1, || drop(fit(&data, &px(32))));
    assert!(time < Duration::from_secs(2), "{time:?}");
}

#[test]
fn other_formats_never_reach_a_decoder() {
    let mut bitmap = b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec();
    bitmap.extend_from_slice(&30_000_u32.to_le_bytes());
    bitmap.extend_from_slice(&(-30_000_i32).to_le_bytes());
    bitmap.extend_from_slice(&[1, 0, 24, 0, 0, 0, 0, 0]);
    let table: [(&[u8], Option<Format>); 9] = [
        (&bitmap, Some(Format::Bmp)),
        (b"II*\0\x08\0\0\0", Some(Format::Tiff)),
        (b"\0\0\0\x18ftypavif\0\0\0\0avif", Some(Format::Avif)),
        (b"\0\0\0\x18ftypheic\0\0\0\0heic", Some(Format::Heic)),
        (b"<svg onload='x'/>", Some(Format::Svg)),
        (b"%PDF-1.7\n", Some(Format::Pdf)),
        (b"\0\0\x01\0\x01\0\x10\x10", None),
        (b"8BPS\0\x01", None),
        (b"\x76\x2F\x31\x01", None),
    ];
    for (data, format) in table {
        assert_eq!(sniff(data), format);
        let png_only = Terms::of(&types(&["image/png"]), 1);
        let problem = plan(data, "image/png", &png_only).unwrap_err();
        assert!(
            matches!(problem, Problem::NotAccepted { .. } | Problem::Unrecognised),
            "{problem:?}"
        );
        let Some(format) = format else { continue };
        let own = Terms::of(&types(&[format.media_type()]), 1);
        assert!(
            plan(data, "", &own).is_ok(),
            "{format} passes where it is listed"
        );
    }
}

#[test]
fn extreme_aspect_ratios_keep_at_least_one_pixel() {
    for (width, height, to) in [(1, 16_384, (1, 100)), (65_535, 1, (100, 1)), (1, 1, (1, 1))] {
        let data = png(width, height, smooth);
        let fitted = fit(&data, &px(100)).unwrap();
        let header = measure(&fitted.data).unwrap();
        assert_eq!((header.width, header.height), to);
    }
    for empty in [
        forge::png(&[(b"IHDR", forge::ihdr(0, 0, 8, 2)), (b"IEND", vec![])]),
        forge::png(&[(b"IHDR", forge::ihdr(0, 5, 8, 2)), (b"IEND", vec![])]),
    ] {
        assert_eq!(measure(&empty).unwrap_err(), Problem::NoPixels);
    }
    assert_eq!(measure(b"").unwrap_err(), Problem::Empty);
}

#[test]
fn noise_fits_any_limit_that_a_jpeg_can_have_and_fails_soon_below_it() {
    let data = jpeg(1024, 1024, noise);
    for limit in [50_000, 5_000, 1_000] {
        let fitted = fit(&data, &max_bytes(limit)).unwrap();
        assert!(fitted.data.len() as u64 <= limit);
    }
    let limits = max_bytes(300);
    let problem = fit(&data, &limits).unwrap_err();
    let Problem::CannotFit { tried, .. } = &problem else {
        panic!("{problem:?}");
    };
    let tries = tried.matches("jpeg of quality").count();
    assert!((1..=12).contains(&tries), "{tried}");
    let time = fastest(2, || drop(fit(&data, &limits)));
    assert!(time < Duration::from_secs(2), "{time:?}");
}

/// Noise in the rows that a sample of every sixth row of MCUs leaves out.
fn uneven(x: u32, y: u32) -> [u8; 3] {
    if (y / 16) % 6 == 3 {
        [250; 3]
    } else {
        noise(x, y)
    }
}

#[test]
fn a_picture_whose_sample_misleads_still_reaches_its_limit() {
    for data in [png(480, 960, uneven), jpeg(480, 960, uneven)] {
        for limit in [60_000, 20_000, 5_000] {
            let limits = types(&["image/jpeg"]).with_max_bytes(Some(limit));
            let fitted = fit(&data, &limits).unwrap();
            assert!(fitted.data.len() as u64 <= limit);
        }
    }
}

#[test]
fn an_image_at_its_limits_is_measured_within_ten_microseconds() {
    let photo = {
        let mut data = jpeg(600, 400, noise).to_vec();
        data.truncate(data.len() - 2);
        data.resize(4 << 20, 7);
        data.extend_from_slice(&[0xFF, 0xD9]);
        Bytes::from(data)
    };
    let terms = Terms::of(&ImageLimits::default(), 1);
    let time = average(20_000, || drop(plan(&photo, "image/jpeg", &terms)));
    assert!(time < Duration::from_micros(10), "{time:?}");
}
