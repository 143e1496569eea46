//! Comparison with another decoder: at full size, and with means of its pixels at every DCT
//! scale.

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use majordomo_image_header::measure;

use super::*;

fn jpeg(width: u16, height: u16, sampling: SamplingFactor, color: ColorType) -> Vec<u8> {
    let mut pixels = Vec::new();
    for at in 0..u32::from(width) * u32::from(height) {
        let (x, y) = (at % u32::from(width), at / u32::from(width));
        let value = [x * 2, y * 3, x + y];
        let channels = if color == ColorType::Luma { 1 } else { 3 };
        pixels.extend(value[..channels].iter().map(|value| *value as u8));
    }
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, 90);
    encoder.set_sampling_factor(sampling);
    encoder.encode(&pixels, width, height, color).unwrap();
    out
}

fn interleaved(picture: Picture) -> Picture {
    let converted = picture.to_interleaved(&Job::unlimited()).unwrap();
    converted.unwrap_or(picture)
}

/// The mean of each square of `scale` by `scale` pixels.
fn averaged(picture: &Picture, scale: usize) -> Vec<u8> {
    let channels = picture.layout.bytes_per_pixel().unwrap();
    let (width, height) = (picture.width as usize, picture.height as usize);
    let mut out = Vec::new();
    for y in (0..height).step_by(scale) {
        for x in (0..width).step_by(scale) {
            for channel in 0..channels {
                let rows = y..(y + scale).min(height);
                let values = rows.flat_map(|y| {
                    let columns = x..(x + scale).min(width);
                    columns.map(move |x| picture.data[(y * width + x) * channels + channel])
                });
                let values: Vec<u32> = values.map(u32::from).collect();
                out.push((values.iter().sum::<u32>() / values.len() as u32) as u8);
            }
        }
    }
    out
}

#[test]
fn every_sampling_and_dct_scale_matches_another_decoder() {
    let rgb = [
        SamplingFactor::R_4_4_4,
        SamplingFactor::R_4_2_2,
        SamplingFactor::R_4_2_0,
    ];
    let rgb = rgb.map(|sampling| (sampling, ColorType::Rgb));
    let gray = [(SamplingFactor::R_4_4_4, ColorType::Luma)];
    for (sampling, color) in rgb.into_iter().chain(gray) {
        for (width, height) in [(96, 64), (97, 63), (16, 16), (1, 1)] {
            let data = jpeg(width, height, sampling, color);
            let header = measure(&data).unwrap();
            let other = fallback::decode(&data, &header, &Job::unlimited()).unwrap();
            for (scale, chroma) in [1, 2, 4, 8]
                .into_iter()
                .flat_map(|scale| [(scale, Chroma::Half), (scale, Chroma::Full)])
            {
                let size = (u32::from(width), u32::from(height));
                let wanted = (size.0.div_ceil(scale), size.1.div_ceil(scale));
                let ours = decode(
                    &data,
                    &header,
                    (wanted, Orientation::UPRIGHT),
                    chroma,
                    &Job::unlimited(),
                )
                .unwrap();
                assert_eq!((ours.width, ours.height), wanted);
                if let (Layout::YCbCr(found), Chroma::Full, true) = (ours.layout, chroma, scale > 1)
                {
                    assert_eq!((found.width, found.height), wanted, "{sampling:?} {size:?}");
                }
                let ours = interleaved(ours);
                let theirs = averaged(&other, scale as usize);
                assert_eq!(ours.data.len(), theirs.len());
                let pairs = ours.data.iter().zip(&theirs);
                let apart: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
                let mean = apart as f64 / theirs.len() as f64;
                let limit = match (color, scale, chroma) {
                    (ColorType::Luma, ..) => 1.5,
                    (_, 1, _) | (.., Chroma::Full) => 3.0,
                    // Chroma is reduced, too.
                    _ => 8.0,
                };
                assert!(
                    mean < limit,
                    "{sampling:?} {size:?} / {scale}, {chroma:?}: {mean}"
                );
            }
        }
    }
}

#[test]
fn a_truncated_scan_is_refused() {
    let data = jpeg(64, 64, SamplingFactor::R_4_2_0, ColorType::Rgb);
    let cut = &data[..data.len() - 40];
    let header = measure(cut).unwrap();
    assert!(
        decode(
            cut,
            &header,
            ((64, 64), Orientation::UPRIGHT),
            Chroma::Half,
            &Job::unlimited()
        )
        .is_err()
    );
}

/// The file with each component in a scan of its own, as `jpegtran -scans` writes it: its
/// blocks are the same, only their order differs.
fn non_interleaved(sampling: SamplingFactor, progressive: bool) -> Vec<u8> {
    let mut pixels = Vec::new();
    for at in 0..61 * 45_u32 {
        let (x, y) = (at % 61, at / 61);
        pixels.extend([(x * 4) as u8, (y * 5) as u8, (255 - x * 2) as u8]);
    }
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, 90);
    encoder.set_sampling_factor(sampling);
    encoder.set_progressive(progressive);
    // With optimized tables, this encoder writes one scan for each component.
    encoder.set_optimized_huffman_tables(true);
    encoder.encode(&pixels, 61, 45, ColorType::Rgb).unwrap();
    out
}

#[test]
fn components_in_scans_of_their_own_give_the_same_picture() {
    for sampling in [
        SamplingFactor::R_4_4_4,
        SamplingFactor::R_4_2_2,
        SamplingFactor::R_4_4_0,
        SamplingFactor::R_4_2_0,
    ] {
        let job = Job::unlimited();
        let open = |data: &[u8]| {
            decode(
                data,
                &measure(data).unwrap(),
                ((61, 45), Orientation::UPRIGHT),
                Chroma::Half,
                &job,
            )
            .unwrap()
        };
        let separate = non_interleaved(sampling, false);
        let (_, frame, scan) = Segments::open(&separate).unwrap();
        assert!(scan.components.len() < frame.components.len());
        let progressive = open(&non_interleaved(sampling, true));
        let separate = interleaved(open(&separate));
        assert!(
            interleaved(progressive).data[..] == separate.data[..],
            "{sampling:?}"
        );
        // The colours are those of the source.
        for (x, y) in [(3, 3), (57, 3), (30, 40)] {
            let at = (y * 61 + x) * 3;
            let wanted = [x * 4, y * 5, 255 - x * 2];
            for (found, wanted) in separate.data[at..at + 3].iter().zip(wanted) {
                assert!(found.abs_diff(wanted as u8) < 16, "{sampling:?} {x},{y}");
            }
        }
    }
}

/// The refusal of a file.
fn refused(data: &[u8]) -> CodecError {
    let header = measure(data).unwrap();
    let whole = ((header.width, header.height), Orientation::UPRIGHT);
    decode(data, &header, whole, Chroma::Half, &Job::unlimited()).unwrap_err()
}

#[test]
fn unusual_files_with_several_scans_are_refused() {
    let mut data = non_interleaved(SamplingFactor::R_4_2_0, false);
    // A quarter of the chroma, which is left to the fallback.
    let frame = data.windows(2).position(|w| w == [0xFF, 0xC0]).unwrap();
    data[frame + 11] = 0x41;
    assert_eq!(refused(&data), CodecError::UnsupportedKind(Format::Jpeg));
}

/// A file of one scan in which all coefficients are zero.
fn blank(marker: u8, factors: [u8; 3]) -> Vec<u8> {
    let mut data = vec![0xFF, 0xD8];
    let mut segment = |marker: u8, body: &[u8]| {
        data.extend_from_slice(&[0xFF, marker, 0, body.len() as u8 + 2]);
        data.extend_from_slice(body);
    };
    segment(0xDB, &[[0].as_slice(), &[1; 64]].concat());
    let [a, b, c] = factors;
    segment(marker, &[8, 0, 24, 0, 24, 3, 1, a, 0, 2, b, 0, 3, c, 0]);
    for table in [0x00, 0x10] {
        // One code of one bit, for the symbol 0.
        let table = [[table, 1].as_slice(), &[0; 15], &[0]].concat();
        segment(0xC4, &table);
    }
    let last = if marker == 0xC2 { 0 } else { 63 };
    segment(0xDA, &[3, 1, 0, 2, 0, 3, 0, 0, last, 0]);
    data.extend_from_slice(&[0; 64]);
    data.extend_from_slice(&[0xFF, 0xD9]);
    data
}

#[test]
fn chroma_that_is_finer_than_luma_or_no_power_of_two_is_refused() {
    let unsupported = CodecError::UnsupportedKind(Format::Jpeg);
    for marker in [0xC0, 0xC1, 0xC2] {
        for factors in [
            [0x11, 0x22, 0x22],
            [0x11, 0x21, 0x11],
            [0x21, 0x12, 0x11],
            [0x31, 0x11, 0x11],
            [0x22, 0x11, 0x01],
        ] {
            let data = blank(marker, factors);
            assert_eq!(refused(&data), unsupported, "{marker:x} {factors:x?}");
        }
    }
    for factors in [[0x41, 0x11, 0x11], [0x22, 0x12, 0x12], [0x22, 0x21, 0x11]] {
        let data = blank(0xC0, factors);
        let header = measure(&data).unwrap();
        let whole = ((24, 24), Orientation::UPRIGHT);
        let picture = decode(&data, &header, whole, Chroma::Full, &Job::unlimited()).unwrap();
        let picture = interleaved(picture);
        assert!(
            picture.data.iter().all(|value| *value == 128),
            "{factors:x?}"
        );
    }
}

/// Turned while it is decoded, or afterwards: every orientation, with sides that end within a
/// strip, an MCU and a chroma sample.
#[test]
fn a_picture_turned_while_it_is_decoded_is_the_same() {
    let job = Job::unlimited();
    for sampling in [
        SamplingFactor::R_4_4_4,
        SamplingFactor::R_4_2_2,
        SamplingFactor::R_4_4_0,
        SamplingFactor::R_4_2_0,
    ] {
        for (width, height) in [(160, 128), (97, 214), (98, 211), (33, 16), (1, 70), (2, 2)] {
            let data = jpeg(width, height, sampling, ColorType::Rgb);
            let header = measure(&data).unwrap();
            let size = (header.width, header.height);
            let upright = Orientation::UPRIGHT;
            let stored = decode(&data, &header, (size, upright), Chroma::Full, &job).unwrap();
            for value in 1..=8 {
                let turn = Orientation::from_exif(value);
                let found = decode(&data, &header, (size, turn), Chroma::Full, &job).unwrap();
                let wanted = stored.oriented(turn, &job).unwrap();
                assert_eq!((found.width, found.height), (wanted.width, wanted.height));
                assert_eq!(found.layout, wanted.layout, "{size:?} {sampling:?} {value}");
                assert!(
                    found.data[..] == wanted.data[..],
                    "{size:?} {sampling:?} {value}"
                );
            }
        }
    }
}
