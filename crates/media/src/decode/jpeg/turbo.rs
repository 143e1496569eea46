//! Ordinary sequential files by libjpeg-turbo, behind the feature `turbo`.

use turbojpeg::{Decompressor, ScalingFactor, Subsamp, YuvImage, yuv_pixels_len};

use super::inverse::Scale;
use super::layout::File;
use crate::picture::{Chroma, Layout, Picture};

/// Decodes the file at the smallest scale that has the wanted size.
///
/// None if there is anything odd about it: our own decoder then says what is
/// damage and what is not, so that both builds take the same files.
pub(super) fn decode(data: &[u8], file: &File<'_>, wanted: (u32, u32)) -> Option<Picture> {
    let scale = Scale::for_size((file.width, file.height), wanted);
    let (width, height) = (scale.of(file.width), scale.of(file.height));
    let mut decoder = Decompressor::new().ok()?;
    let header = decoder.read_header(data).ok()?;
    if (header.width, header.height) != (file.width as usize, file.height as usize) {
        return None;
    }
    decoder
        .set_scaling_factor(ScalingFactor::new(scale.side(), 8))
        .ok()?;
    let size = (width as usize, height as usize);
    // Room for the file's own layout, which is what the library writes.
    let length = yuv_pixels_len(size.0, 1, size.1, header.subsamp).ok()?;
    let mut image = YuvImage {
        pixels: vec![0; length],
        width: size.0,
        align: 1,
        height: size.1,
        subsamp: header.subsamp,
    };
    decoder.decompress_to_yuv(data, image.as_deref_mut()).ok()?;

    let layout = match header.subsamp {
        Subsamp::Gray => Layout::Gray,
        _ => Layout::Planes(Chroma {
            width: image.uv_width() as u32,
            height: image.uv_height() as u32,
        }),
    };
    // Brightness comes padded to whole steps of the colours.
    let stored = image.y_size();
    let mut data = image.pixels;
    crop(&mut data, stored, size);
    Some(Picture {
        width,
        height,
        layout,
        data,
    })
}

/// Takes the padding out of the first plane, in place.
fn crop(pixels: &mut Vec<u8>, stored: (usize, usize), size: (usize, usize)) {
    if stored == size {
        return;
    }
    for row in 0..size.1 {
        let from = row * stored.0;
        pixels.copy_within(from..from + size.0, row * size.0);
    }
    pixels.drain(size.0 * size.1..stored.0 * stored.1);
}

#[cfg(test)]
mod tests {
    use super::super::{layout, sequential};
    use super::*;
    use crate::Stop;
    use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

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

    /// Both scale by frequencies, but not with the same rounding.
    #[test]
    fn both_decoders_see_the_same_picture_at_every_scale() {
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
                let file = layout::read(&data).unwrap();
                for divisor in [1, 2, 4, 8] {
                    let size = (u32::from(width), u32::from(height));
                    let wanted = (size.0.div_ceil(divisor), size.1.div_ceil(divisor));
                    let ours = sequential::decode(&file, wanted, &Stop::new()).unwrap();
                    let theirs = decode(&data, &file, wanted).unwrap();
                    assert_eq!((ours.width, ours.height), (theirs.width, theirs.height));
                    let (ours, theirs) = (ours.packed(), theirs.packed());
                    let pairs = ours.data.iter().zip(&theirs.data);
                    let apart: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
                    let mean = apart as f64 / ours.data.len() as f64;
                    assert!(mean < 3.0, "{sampling:?} {size:?} / {divisor}: {mean}");
                }
            }
        }
    }

    #[test]
    fn a_damaged_file_is_left_to_the_own_decoder() {
        let data = jpeg(64, 64, SamplingFactor::R_4_2_0, ColorType::Rgb);
        let cut = &data[..data.len() - 40];
        let file = layout::read(cut).unwrap();
        assert!(decode(cut, &file, (64, 64)).is_none());
    }
}
