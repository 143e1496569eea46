//! Pixel by pixel beside another decoder.

use super::*;
use crate::header::lossy_webp_frame;
use crate::measure;
use proptest::prelude::*;
use tables::Chances;

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
    let wanted = other(frame);
    for with_tables in [false, true] {
        let size = (header.width, header.height);
        let picture = decode_by(frame, size, &Stop::new(), with_tables);
        let picture = picture.expect("the frame is sound");
        assert_eq!(picture.data.len(), wanted.len(), "{name}");
        let differs = picture.data.iter().zip(&wanted).position(|(a, b)| a != b);
        assert_eq!(differs, None, "{name}, tables: {with_tables}");
    }
}

/// Small pictures that libwebp packed: 33×17 pixels as well as it can, and 24×20
/// as quickly and badly.
const FILES: [&str; 2] = [
    "\
     5249464614010000574542505650382008010000b006009d012a210011003eb54ca04b27242321a56e60e016\
     896c00bb32fb42c8f22b1a68c48830caeead308f99c2156bf6826b3de3ea23b6e5d325caa74000fefcc837d7\
     1d7b68f3b54f7e7da367e5e4a685027c42ec49c694ff7ccb1401b8cfbf7fc7bed8d49821ac140ba4b6137e70\
     b3538090c1bbb397bd9045ce5a719fd5c1def94405c19aa24db4571055017ab9b5d262e12a735fc541108cd7\
     2f0590955ab1c77fd36cd17b00a94ddffdb979dad4dbcdfaf975dd654abdd5a7c1ccdbf7a4a7d4412f946f14\
     af09c4b67e413ff7de88065755ac95516f3dfe8715e84f73ff071459e91056d08500155d7e677f030b402ff3\
     3bf8188bdf01d864a46a21d6ad8ba005e0000000",
    "\
     52494646c80000005745425056503820bc000000f004009d012a180014003f91b0cf5db82daa24b7f5580300\
     32096c3733d201a207a5e38c3e9bccd0e9bf6a286534b88000fee569d9f582d1f7d81fdf9b9fc3c8db5f90a7\
     471e1fa2133acbc473f236879b88fc3a47ea26feee9be9dbcaf9563ba10814f9ae4fe07e691b441155cdb8df\
     63d415477b9b4dfffe180c7e8efb524627a808dedccd69045e19fe93ab7fe378956e70cf5f886dd5cbfcba07\
     df9aa7fae32ef20e4f8ebbe9d117e8e1befec48ce24f4b7e8ddada4602000000",
];

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().as_chunks::<2>().0.iter();
    let byte = |pair: &[u8; 2]| {
        let pair = std::str::from_utf8(pair).expect("digits are text");
        u8::from_str_radix(pair, 16).expect("there are only digits")
    };
    digits.map(byte).collect()
}

/// Sound files, for other tests.
pub(crate) fn files() -> [Vec<u8>; 2] {
    FILES.map(bytes)
}

#[test]
fn every_pixel_is_that_of_another_decoder() {
    for file in FILES {
        compare(&file[..40], &bytes(file));
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
fn a_frame_that_was_cut_off_is_left_to_the_general_decoder() {
    let file = bytes(FILES[0]);
    let header = measure(&file).expect("the file is sound");
    let frame = lossy_webp_frame(&file, &header).expect("the file is lossy");
    for with_tables in [false, true] {
        let open = |frame: &[u8], size| decode_by(frame, size, &Stop::new(), with_tables);
        assert!(open(frame, (33, 17)).is_some());
        assert!(open(frame, (34, 17)).is_none(), "another size");
        for length in [0, 9, 12, 60, frame.len() / 2] {
            assert!(open(&frame[..length], (33, 17)).is_none(), "{length}");
        }
    }
    let stop = Stop::new();
    stop.stop();
    assert!(decode(frame, (33, 17), &stop).is_none());
}

/// Any chances, often those that leave next to nothing for one side.
fn any_chances() -> impl Strategy<Value = Chances> {
    let chance = prop_oneof![3 => any::<u8>(), 1 => prop_oneof![Just(0), Just(1), Just(255)]];
    proptest::collection::vec(chance, 4 * 8 * 3 * 11).prop_map(|all| {
        let mut all = all.into_iter();
        let mut chances: Chances = [[[[0; 11]; 3]; 8]; 4];
        let places = chances.as_flattened_mut().as_flattened_mut();
        for chance in places.as_flattened_mut() {
            *chance = all.next().expect("there are as many as places");
        }
        chances
    })
}

proptest! {
    #[test]
    fn tables_read_what_single_decisions_read(
        chances in any_chances(),
        // No encoder begins with 255: that is no value of the range.
        first in 0..255_u8,
        data in proptest::collection::vec(any::<u8>(), 0..1500),
    ) {
        let data = [&[first], &*data].concat();
        let read = |with_tables| {
            let kinds = residuals::kinds(&chances, with_tables);
            let mut bools = bools::Bools::new(&data);
            let mut edges = (Edge::default(), Edge::default());
            let mut residuals = Residuals::new();
            let steps = header::Steps { luma: [1; 2], means: [8; 2], color: [1; 2] };
            let mut blocks = Vec::new();
            for number in 0..20 {
                residuals.clear();
                let edges = (&mut edges.0, &mut edges.1);
                let coded = residuals.read(&mut bools, &kinds, &steps, number % 3 == 0, edges);
                blocks.push((coded, residuals.blocks, residuals.counts));
            }
            (blocks, bools.number(8), bools.is_exhausted())
        };
        prop_assert!(read(true) == read(false));
    }
}
