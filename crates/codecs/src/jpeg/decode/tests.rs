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
            let image = markers::parse(&data).unwrap();
            let other = fallback::decode(&data, &header, &Stop::new()).unwrap();
            for scale in [1, 2, 4, 8] {
                let size = (u32::from(width), u32::from(height));
                let wanted = (size.0.div_ceil(scale), size.1.div_ceil(scale));
                let ours = sequential::decode(&image, wanted, &Stop::new()).unwrap();
                assert_eq!((ours.width, ours.height), wanted);
                let ours = ours.to_interleaved();
                let theirs = averaged(&other, scale as usize);
                assert_eq!(ours.data.len(), theirs.len());
                let pairs = ours.data.iter().zip(&theirs);
                let apart: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
                let mean = apart as f64 / theirs.len() as f64;
                // Chroma planes are reduced, too, and not interpolated.
                let limit = match (color, scale) {
                    (ColorType::Luma, _) => 1.5,
                    (_, 1) => 3.0,
                    _ => 8.0,
                };
                assert!(mean < limit, "{sampling:?} {size:?} / {scale}: {mean}");
            }
        }
    }
}

#[test]
fn a_truncated_scan_is_refused() {
    let data = jpeg(64, 64, SamplingFactor::R_4_2_0, ColorType::Rgb);
    let cut = &data[..data.len() - 40];
    let image = markers::parse(cut).unwrap();
    assert!(sequential::decode(&image, (64, 64), &Stop::new()).is_err());
}
