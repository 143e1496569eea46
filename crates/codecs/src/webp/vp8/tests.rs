//! Bit-exact comparison with another decoder.

use majordomo_image_header::measure;
use majordomo_image_header::webp::lossy_frame as lossy_webp_frame;
use proptest::prelude::*;
use tables::CoeffProbs;

use super::*;
use crate::simd_level::at_all_levels;

/// The frame as the other decoder sees it, expanded to the full range.
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
    let size = (header.width, header.height);
    for with_tables in [false, true] {
        let pictures =
            at_all_levels(|| decode_by(frame, size, &Job::unlimited(), with_tables).unwrap());
        for (level, picture) in pictures.into_iter().enumerate() {
            let picture = picture.expect("the frame is sound");
            assert_eq!(picture.data.len(), wanted.len(), "{name}");
            let differs = picture.data.iter().zip(&wanted).position(|(a, b)| a != b);
            assert_eq!(
                differs, None,
                "{name}, tables: {with_tables}, level {level}"
            );
        }
    }
}

/// Small files by libwebp: 33×17 at the best quality, 24×20 at the worst, 15×50 with the
/// simple loop filter, 20×60 with four token partitions and high sharpness, 50×14 with
/// macroblocks that are not filtered.
const FILES: [&str; 5] = [
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
    "\
     52494646de0000005745425056503820d20000007205009d012a0f0032003f1d78b0492d2724a1280aada023\
     8a6c00b11b5058311b705beffe1162fdaab0dea6f8c58e69c23b320000feff1ceddd9120de3787cc5e9ce8dc\
     686574bc4e8cb3af7903245b2a157fabab30270a2b7b1c2a49b83d1a4cc1adf0fe9ba611d8940c0b69f1bbdf\
     9cdc8cdc2d37521fbadfcaedabec3d1ddb54bae4be79db4a6cd010ddbfdf126801bd02e144ee7010643c60ed\
     d3050cb9fbd8f931e9217c1b99ffe89a3a1702d181f66634288c638b05e7ee41f2713122724a79a12a0c09f6\
     20063cce4a231ecc5000",
    "\
     52494646ee0100005745425056503820e20100003009009d012a14003c003f6d96ab49bb2e24a1b0180a036a\
     ad8a6c3e85519c8ef301f601db47f00fc009900f59ff60d74be408327fdf7f603d6a4a80300affccd386f61e\
     e70f4bb6c132ee45662e6762d8c000570000780000740000fef23bf93ca1f53e9d448c3fff31b379cc471b01\
     73d39f2ae2e0bc3dda39fb774d1d9b6a6456020d1d6c7d1f63e8fb1faca11c6f0aab7ca91567e92d0c2a8ccf\
     6afac4e8ac01642dea3d85d7d85d89f3f906115ae60000fea3fe09a05a8772cedda9a4700b8ec39939283d4a\
     cfd3ad1ffff508ffdd1dffe9a7f710f8c4d84be317f18b9af582437535bee3eec7f86d1c71f03fbd72cb818f\
     f32d17a5d1f9ec15b47d428da3f54a028f9fa3e9663e8b8b7d67d3388c59ca17f573325fc5fc79645781dfb1\
     e2c3c8964a41ac9b2e8000fe51cfa1ae36ffe2349ffe75ea4acfe3ff3c257b492ef8dcb9292f7a2cc608de2a\
     d1ab7ad51188bc9b8f2b1e2e24a716cb2e1528d543a5038de563072fcd06a95d817b058aab3f04bd85302ea3\
     f1d6c6c9416d1cd7eadef7a862cd4774c651d8b8bb7219a4423bce4249f8614327d03d6078f800f8632891ba\
     00a8954798fa330e186bdc845441647b39c8b4b92a736a8d0267f1f163228423e835153d8b907991ba8a5c4d\
     7c018b0acd01ea6f8530d09dfb1ce8800000",
    "\
     5249464694000000574542505650382088000000b003009d012a32000e003fa5b6c84628a522980c0600881a\
     4532005f9c2db2424a1468596ec000feee57cbfd0bc9ffccb71315898a3a03a73506fcc5390491173151a791\
     d71c857a3602cc11044a9d4be8aeb98f347733113d5af1b6b0eeb26111562cd7aed760e8fe548252bbfe9fe6\
     0857389ab46609f36be848fbff305ffe60bdc6b9b1700000",
];

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().as_chunks::<2>().0.iter();
    let byte = |pair: &[u8; 2]| {
        let pair = std::str::from_utf8(pair).expect("digits are text");
        u8::from_str_radix(pair, 16).expect("there are only digits")
    };
    digits.map(byte).collect()
}

/// Valid files, for other tests.
pub(crate) fn files() -> [Vec<u8>; 5] {
    FILES.map(bytes)
}

#[test]
fn every_pixel_matches_another_decoder() {
    for file in FILES {
        compare(&file[..40], &bytes(file));
    }
}

/// 99 files by libwebp 1.3.1: 1×1, 15×17, 97×63 and 208×144 pixels of gradients, noise and
/// edges, at qualities 1 to 99, with simple and normal loop filters of several strengths
/// and sharpnesses, one and four segments, one and eight token partitions.
const LIBWEBP: &[u8] = include_bytes!("../../../tests/data/libwebp-lossy.bin");

#[test]
fn every_pixel_matches_another_decoder_for_all_encoder_settings() {
    let mut files = 0;
    let mut rest = LIBWEBP;
    while !rest.is_empty() {
        let size = u32::from_le_bytes(rest[4..8].try_into().expect("four bytes"));
        let (file, next) = rest.split_at(8 + size as usize);
        compare(&format!("file {files}"), file);
        rest = next;
        files += 1;
    }
    assert_eq!(files, 99);
}

#[test]
fn a_truncated_frame_is_left_to_the_fallback() {
    let file = bytes(FILES[0]);
    let header = measure(&file).expect("the file is sound");
    let frame = lossy_webp_frame(&file, &header).expect("the file is lossy");
    for with_tables in [false, true] {
        let open =
            |frame: &[u8], size| decode_by(frame, size, &Job::unlimited(), with_tables).unwrap();
        assert!(open(frame, (33, 17)).is_some());
        assert!(open(frame, (34, 17)).is_none(), "another size");
        for length in [0, 9, 12, 60, frame.len() / 2] {
            assert!(open(&frame[..length], (33, 17)).is_none(), "{length}");
        }
    }
    let job = Job::unlimited();
    job.stop.stop();
    assert!(decode(frame, (33, 17), &job).is_err());
}

/// Any probabilities, often extreme ones.
fn any_probs() -> impl Strategy<Value = CoeffProbs> {
    let prob = prop_oneof![3 => any::<u8>(), 1 => prop_oneof![Just(0), Just(1), Just(255)]];
    proptest::collection::vec(prob, 4 * 8 * 3 * 11).prop_map(|all| {
        let mut all = all.into_iter();
        let mut probs: CoeffProbs = [[[[0; 11]; 3]; 8]; 4];
        let places = probs.as_flattened_mut().as_flattened_mut();
        for prob in places.as_flattened_mut() {
            *prob = all.next().expect("there are as many as places");
        }
        probs
    })
}

#[test]
fn a_frame_with_any_bit_flipped_never_panics() {
    for file in files() {
        let header = measure(&file).expect("the file is sound");
        let frame = lossy_webp_frame(&file, &header).expect("the file is lossy");
        let size = (header.width, header.height);
        for bit in 0..frame.len() * 8 {
            let mut frame = frame.to_vec();
            frame[bit / 8] ^= 1 << (bit % 8);
            for with_tables in [false, true] {
                // The picture may differ, but not its dimensions.
                let decoded = decode_by(&frame, size, &Job::unlimited(), with_tables);
                if let Some(picture) = decoded.unwrap() {
                    assert_eq!((picture.width, picture.height), size, "{bit}");
                }
            }
        }
    }
}

#[test]
fn token_tables_cover_nearly_all_coefficients() {
    let known = |probs: &[u8; 11]| {
        let table = token_tables::SmallTokenTable::new(probs, true);
        (0..128)
            .filter(|range| table.at_range(*range).minuses > 0)
            .count()
    };
    let places = tables::DEFAULT_COEFF_PROBS.as_flattened().as_flattened();
    let known: usize = places.iter().map(known).sum();
    assert!(known * 10 > places.len() * 128 * 9, "{known}");
}

proptest! {
    #[test]
    fn token_tables_decode_what_single_booleans_decode(
        probs in any_probs(),
        // No encoder starts a partition with 255: the value must be below the range.
        first in 0..255_u8,
        data in proptest::collection::vec(any::<u8>(), 0..1500),
    ) {
        let data = [&[first], &*data].concat();
        let read = |with_tables| {
            let block_types = coefficients::block_types(&probs, with_tables);
            let mut bools = bool_decoder::BoolDecoder::new(&data);
            let mut edges = (NonzeroContext::default(), NonzeroContext::default());
            let mut coefficients = Coefficients::new();
            let factors = frame_header::DequantFactors { y: [1; 2], y2: [8; 2], uv: [1; 2] };
            let mut blocks = Vec::new();
            for number in 0..20 {
                coefficients.clear();
                let edges = (&mut edges.0, &mut edges.1);
                let coded = coefficients.read(&mut bools, &block_types, &factors, number % 3 == 0, edges);
                blocks.push((coded, coefficients.blocks, coefficients.counts));
            }
            (blocks, bools.read_literal(8), bools.is_exhausted())
        };
        prop_assert!(read(true) == read(false));
    }
}
