//! Lossless, transparent and unusual still images, by `image-webp`.

use image_webp::{UpsamplingMethod, WebPDecodeOptions, WebPDecoder};

use super::decode::DAMAGED;
use crate::picture::{Layout, Picture, pixel_count};
use crate::stop::StoppableReader;
use crate::{CodecError, Stop};

pub(super) fn decode_still(
    data: &[u8],
    (width, height): (u32, u32),
    stop: &Stop,
) -> Result<Picture, CodecError> {
    let mut options = WebPDecodeOptions::default();
    options.lossy_upsampling = UpsamplingMethod::Simple;
    let reader = StoppableReader::new(data, stop);
    let mut decoder = WebPDecoder::new_with_options(reader, options).map_err(|_| DAMAGED)?;
    if decoder.dimensions() != (width, height) || decoder.is_animated() {
        return Err(DAMAGED);
    }
    let layout = if decoder.has_alpha() {
        Layout::Rgba
    } else {
        Layout::Rgb
    };
    let mut pixels = vec![0; pixel_count(width, height) * layout.bytes_per_pixel().unwrap_or(4)];
    decoder.read_image(&mut pixels).map_err(|_| DAMAGED)?;
    Ok(Picture {
        width,
        height,
        layout,
        data: pixels,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of 97×63 pixels by libwebp: lossless, lossy with alpha, lossless with alpha.
    const LIBWEBP: &[u8] = include_bytes!("../../tests/data/libwebp-lossless-alpha.bin");
    const SIZE: (u32, u32) = (97, 63);

    fn files() -> Vec<&'static [u8]> {
        let mut files = Vec::new();
        let mut rest = LIBWEBP;
        while !rest.is_empty() {
            let size = u32::from_le_bytes(rest[4..8].try_into().unwrap());
            let (file, next) = rest.split_at(8 + size as usize);
            files.push(file);
            rest = next;
        }
        files
    }

    /// The pixels that the files were made of.
    fn drawn() -> impl Iterator<Item = [u8; 4]> {
        (0..SIZE.0 * SIZE.1).map(|at| {
            let (x, y) = (at % SIZE.0, at / SIZE.0);
            [x * 2, y * 3, x + y, 255 - y].map(|value| value as u8)
        })
    }

    #[test]
    fn lossless_and_transparent_files_decode_to_the_encoded_pixels() {
        for (at, tolerance) in [(0, 0.0), (1, 4.0), (2, 0.0)] {
            let picture = decode_still(files()[at], SIZE, &Stop::new()).unwrap();
            let channels = picture.layout.bytes_per_pixel().unwrap();
            assert_eq!(channels, if at == 0 { 3 } else { 4 });
            let wanted: Vec<u8> = drawn().flat_map(|p| p.into_iter().take(channels)).collect();
            assert_eq!(picture.data.len(), wanted.len());
            let pairs = picture.data.iter().zip(&wanted);
            let apart: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
            let mean = apart as f64 / wanted.len() as f64;
            assert!(mean <= tolerance, "file {at}: {mean}");
        }
    }

    #[test]
    fn truncated_files_and_wrong_dimensions_are_refused() {
        let file = files()[0];
        assert!(decode_still(&file[..file.len() / 2], SIZE, &Stop::new()).is_err());
        assert!(decode_still(file, (98, 63), &Stop::new()).is_err());
    }
}
