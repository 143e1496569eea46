//! Pixel by pixel beside another decoder.

use super::*;
use crate::header::lossy_webp_frame;
use crate::measure;

/// What the other decoder makes of the same frame, in the full range.
fn other(frame: &[u8]) -> Vec<u8> {
    let frame = image_webp::vp8::Vp8Decoder::decode_frame(frame).expect("the frame is sound");
    let (width, height) = (usize::from(frame.width), usize::from(frame.height));
    let stride = width.next_multiple_of(16);
    let spread = |value: u8, from: f64, factor: f64, to: f64| {
        ((f64::from(value) - from) * 255.0 / factor + to).round() as u8
    };
    let mut out = Vec::new();
    for row in frame.ybuf.chunks_exact(stride).take(height) {
        let row = row[..width].iter();
        out.extend(row.map(|value| spread(*value, 16.0, 219.0, 0.0)));
    }
    for plane in [&frame.ubuf, &frame.vbuf] {
        for row in plane.chunks_exact(stride / 2).take(height.div_ceil(2)) {
            let row = row[..width.div_ceil(2)].iter();
            out.extend(row.map(|value| spread(*value, 128.0, 224.0, 128.0)));
        }
    }
    out
}

fn compare(name: &str, file: &[u8]) {
    let header = measure(file).expect("the file is sound");
    let frame = lossy_webp_frame(file, &header).expect("the file is lossy");
    let picture = decode(frame, (header.width, header.height), &Stop::new());
    let picture = picture.expect("the frame is sound");
    let wanted = other(frame);
    assert_eq!(picture.data.len(), wanted.len(), "{name}");
    let differs = picture.data.iter().zip(&wanted).position(|(a, b)| a != b);
    assert_eq!(differs, None, "{name}");
}

/// Drawn and packed by libwebp: 33×17 pixels in two segments, and 48×40 with
/// the simpler smoothing.
const FILES: [&[u8]; 0] = [];

#[test]
fn every_pixel_is_that_of_another_decoder() {
    for (at, file) in FILES.iter().enumerate() {
        compare(&format!("file {at}"), file);
    }
}

#[cfg(feature = "turbo")]
#[test]
fn every_pixel_is_that_of_another_decoder_however_the_file_was_packed() {
    let draw = |width: u32, height: u32| -> Vec<u8> {
        let mut seed = 5_u32;
        let pixels = (0..width * height).flat_map(|at| {
            let (x, y) = (at % width, at / width);
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match (x / 40 + y / 24) % 4 {
                0 => [x * 3, y * 2, x + y].map(|value| value as u8),
                1 => [(seed >> 24) as u8, (seed >> 16) as u8, 90],
                2 => [200, 210, 90],
                _ => [if (x / 3 + y / 5) % 2 == 0 { 20 } else { 220 }; 3],
            }
        });
        pixels.collect()
    };
    for (width, height) in [(1, 1), (15, 17), (97, 63), (208, 144)] {
        let pixels = draw(width, height);
        for (quality, method) in [(1.0, 0), (30.0, 3), (75.0, 4), (99.0, 6)] {
            for (simple, sharpness, strength) in [(0, 0, 60), (1, 0, 60), (1, 7, 100), (1, 3, 0)] {
                for (segments, partitions) in [(1, 0), (4, 3)] {
                    let mut config = webp::WebPConfig::new().unwrap();
                    config.quality = quality;
                    config.method = method;
                    config.filter_type = simple;
                    config.filter_sharpness = sharpness;
                    config.filter_strength = strength;
                    config.segments = segments;
                    config.partitions = partitions;
                    let encoder = webp::Encoder::from_rgb(&pixels, width, height);
                    let file = encoder.encode_advanced(&config).unwrap();
                    compare(
                        &format!("{width}×{height} {quality} {simple} {sharpness} {segments}"),
                        &file,
                    );
                }
            }
        }
    }
}

#[test]
fn a_frame_that_ends_too_early_or_is_another_kind_is_left_alone() {
    assert!(decode(&[], (1, 1), &Stop::new()).is_none());
}
