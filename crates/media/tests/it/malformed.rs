//! Thousands of malformed files: an error or an image, never a panic, never a hang.

use std::time::Duration;

use bytes::Bytes;
use majordomo_media::Problem;

use crate::mediagen::*;

/// One small file of every kind that is decoded.
fn originals() -> Vec<(&'static str, Bytes)> {
    let gray_alpha = [90, 200].repeat(100);
    let mut interlaced = forge::ihdr(9, 9, 8, 2);
    interlaced[12] = 1;
    let interlaced = forge::png(&[
        (b"IHDR", interlaced),
        // The scanlines of the seven Adam7 passes, each with its filter byte.
        (b"IDAT", forge::zeros(262)),
        (b"IEND", vec![]),
    ]);
    vec![
        ("png", png(12, 9, noise)),
        (
            "deep png",
            png_of(8, 8, png::ColorType::Rgb, png::BitDepth::Sixteen, &[7; 384]),
        ),
        (
            "palette png",
            png_of(
                8,
                8,
                png::ColorType::Indexed,
                png::BitDepth::Four,
                &[0x35; 32],
            ),
        ),
        (
            "gray png",
            png_of(
                10,
                10,
                png::ColorType::GrayscaleAlpha,
                png::BitDepth::Eight,
                &gray_alpha,
            ),
        ),
        ("interlaced png", interlaced),
        ("jpeg", jpeg(17, 11, noise)),
        (
            "progressive jpeg",
            jpeg_with(17, 11, noise, |e| e.set_progressive(true)),
        ),
        (
            "jpeg with restarts",
            jpeg_with(40, 40, noise, |e| e.set_restart_interval(1)),
        ),
        (
            "turned jpeg",
            jpeg_with(17, 11, smooth, |e| {
                e.add_exif_metadata(&exif(6, &[])).unwrap()
            }),
        ),
        ("gif", gif(11, 7, &[[200, 1, 2], [3, 200, 4]])),
        ("lossless webp", webp::lossless(12, 9, noise)),
        ("lossy webp", webp::file(webp::LOSSY)),
        ("lossy webp with alpha", webp::file(webp::LOSSY_ALPHA)),
        ("animated webp", webp::file(webp::ANIMATED)),
    ]
}

/// Fits a file in both ways that decode it; true if it was refused.
fn try_file(name: &str, data: Bytes) -> bool {
    let limits = [px(6), types(&["image/jpeg"])];
    let mut refused = false;
    for limits in limits {
        let mut outcome = None;
        let time = fastest(1, || outcome = Some(fit(&data, &limits)));
        assert!(time < Duration::from_secs(2), "{name} took {time:?}");
        match outcome {
            Some(Err(Problem::DecoderFailed)) => panic!("{name} made a decoder panic"),
            Some(Err(_)) => refused = true,
            _ => {}
        }
    }
    refused
}

/// Only the end marker may be missing: no pixel is lost then.
#[test]
fn a_truncated_file_is_refused_unless_all_pixels_are_present() {
    let mut files = 0;
    for (name, data) in originals() {
        let whole = fit(&data, &px(6)).unwrap().data;
        for cut in 0..data.len() {
            let part = data.slice(..cut);
            if !try_file(name, part.clone()) {
                let taken = fit(&part, &px(6)).unwrap().data;
                assert!(
                    taken == whole,
                    "{name} cut at {cut} of {} was taken",
                    data.len()
                );
            }
            files += 1;
        }
    }
    assert!(files >= 2_000, "{files}");
}

#[test]
fn a_file_with_any_bit_flipped_never_panics_or_hangs() {
    let mut files = 0;
    for (name, data) in originals() {
        // All bits of the headers, and some other bits.
        for bit in 0..data.len() * 8 {
            let byte = bit / 8;
            if byte > 200 && bit % 5 != 0 {
                continue;
            }
            let mut broken = data.to_vec();
            broken[byte] ^= 1 << (bit % 8);
            try_file(name, broken.into());
            files += 1;
        }
    }
    assert!(files >= 2_000, "{files}");
}

#[test]
fn files_with_bytes_moved_duplicated_or_zeroed_never_panic_or_hang() {
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    let files = originals();
    for round in 0..3_000 {
        let (name, data) = &files[round % files.len()];
        let mut broken = data.to_vec();
        for _ in 0..=random(4) {
            let (at, length) = (random(broken.len()), 1 + random(24));
            let end = (at + length).min(broken.len());
            match random(5) {
                0 => broken[at..end].fill(0),
                1 => broken[at..end].fill(0xFF),
                2 => drop(broken.drain(at..end)),
                3 => {
                    let piece = broken[at..end].to_vec();
                    let to = random(broken.len());
                    broken.splice(to..to, piece);
                }
                _ => broken[at] = random(256) as u8,
            }
            if broken.is_empty() {
                break;
            }
        }
        try_file(name, broken.into());
    }
}
