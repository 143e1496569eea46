//! Files are decoded by another decoder.

use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use super::*;
use crate::picture::pixel_count;

fn read_back(data: &[u8]) -> Vec<u8> {
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    JpegDecoder::new_with_options(ZCursor::new(data), options)
        .decode()
        .expect("the file is sound")
}

/// A picture of any layout, computed by position and channel.
fn picture(
    width: u32,
    height: u32,
    layout: Layout,
    value: impl Fn(u32, u32, usize) -> u8,
) -> Picture {
    let mut data = Vec::new();
    let mut plane = |(width, height), (across, down), channels: &[usize]| {
        for y in 0..height {
            for x in 0..width {
                data.extend(channels.iter().map(|c| value(x * across, y * down, *c)));
            }
        }
    };
    match layout {
        Layout::Gray => plane((width, height), (1, 1), &[0]),
        Layout::Rgb => plane((width, height), (1, 1), &[0, 1, 2]),
        Layout::Rgbx | Layout::Rgba => plane((width, height), (1, 1), &[0, 1, 2, 0]),
        Layout::YCbCr(chroma) => {
            let size = (chroma.width, chroma.height);
            let steps = (width.div_ceil(size.0), height.div_ceil(size.1));
            plane((width, height), (1, 1), &[0]);
            plane(size, steps, &[1]);
            plane(size, steps, &[2]);
        }
    }
    Picture {
        width,
        height,
        layout,
        data: data.into(),
    }
}

fn layouts(width: u32, height: u32) -> Vec<Layout> {
    let colors = |across: u32, down: u32| {
        Layout::YCbCr(ChromaSize {
            width: width.div_ceil(across),
            height: height.div_ceil(down),
        })
    };
    vec![
        Layout::Gray,
        Layout::Rgb,
        Layout::Rgbx,
        colors(1, 1),
        colors(2, 1),
        colors(1, 2),
        colors(2, 2),
        colors(4, 4),
    ]
}

#[test]
fn every_layout_and_size_survives_a_round_trip() {
    let slope = |x: u32, y: u32, c: usize| match c {
        0 => (60 + x + y / 2) as u8,
        1 => (150 - x / 2) as u8,
        _ => (100 + y / 2) as u8,
    };
    for (width, height) in [(96, 64), (97, 63), (16, 17), (33, 1), (1, 33), (1, 1)] {
        for layout in layouts(width, height) {
            let picture = picture(width, height, layout, slope);
            let mut file = Vec::new();
            encode(&picture, 95, &Job::unlimited(), &mut file).unwrap();
            let found = read_back(&file);
            let wanted = match layout {
                Layout::Gray => picture.data.iter().flat_map(|v| [*v; 3]).collect(),
                Layout::Rgbx => {
                    let pixels = picture.data.as_chunks::<4>().0.iter();
                    pixels.flat_map(|&[r, g, b, _]| [r, g, b]).collect()
                }
                _ => match picture.to_interleaved(&Job::unlimited()).unwrap() {
                    Some(rgb) => rgb.data.to_vec(),
                    None => picture.data.to_vec(),
                },
            };
            assert_eq!(found.len(), pixel_count(width, height) * 3);
            let pairs = found.iter().zip(&wanted);
            let apart: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
            let mean = apart as f64 / found.len() as f64;
            assert!(mean < 2.0, "{width}×{height} {layout:?}: {mean}");
        }
    }
}

#[test]
fn extreme_noise_encodes_to_valid_files_at_every_quality() {
    // Extremes only: the largest values, the longest codes, bytes that need stuffing.
    let noise = |x: u32, y: u32, c: usize| {
        let mixed = (x * 0x9E37 + y * 0x85EB + c as u32 * 0xC2B2).wrapping_mul(0x9E37_79B1);
        if mixed >> 31 == 0 { 0 } else { 255 }
    };
    for layout in [Layout::Gray, Layout::Rgb] {
        let picture = picture(131, 67, layout, noise);
        for quality in [1, 30, 85, 100] {
            let mut file = Vec::new();
            encode(&picture, quality, &Job::unlimited(), &mut file).unwrap();
            let found = read_back(&file);
            if quality == 100 && layout == Layout::Gray {
                let grays = found.iter().step_by(3);
                let near = |(a, b): (&u8, &u8)| a.abs_diff(*b) < 8;
                assert!(grays.zip(&picture.data[..]).all(near));
            }
        }
    }
}

#[test]
fn files_are_as_large_as_those_of_another_encoder() {
    let drawn = |x: u32, y: u32, c: usize| {
        if (x / 9 + y / 7).is_multiple_of(3) {
            240
        } else {
            (x * 3 + y + c as u32 * 40) as u8
        }
    };
    let picture = picture(320, 200, Layout::Rgb, drawn);
    for quality in [85, 65, 45, 30] {
        let mut ours = Vec::new();
        encode(&picture, quality, &Job::unlimited(), &mut ours).unwrap();
        let mut theirs = Vec::new();
        let mut encoder = jpeg_encoder::Encoder::new(&mut theirs, quality);
        encoder.set_sampling_factor(jpeg_encoder::SamplingFactor::R_4_2_0);
        let color = jpeg_encoder::ColorType::Rgb;
        encoder.encode(&picture.data, 320, 200, color).unwrap();
        let (ours, theirs) = (ours.len(), theirs.len());
        assert!(ours.abs_diff(theirs) * 20 < theirs, "{ours} and {theirs}");
    }
}
