//! Lossless WebP (RFC 9649, section 3).
//!
//! Pixels are decoded into one buffer of four channels and transformed in place. Prefix
//! codes are counted like pixels: a file of a megabyte can describe a gigabyte of tables.
//! Section numbers in these modules are those of RFC 9649.

mod bits;
mod color_cache;
mod entropy_image;
mod predictor;
mod prefix_code;
mod transform;

use crate::memory::Buffer;
use crate::picture::{Layout, Picture};
use crate::{CodecError, Job};
use bits::BitReader;
use entropy_image::decode_pixels;
use transform::Transform;

use super::decode::DAMAGED;

/// Red, green, blue, alpha.
type Pixel = [u8; 4];

/// Decodes a `VP8L` chunk.
pub(super) fn decode(
    body: &[u8],
    size: (u32, u32),
    has_alpha: bool,
    job: &Job,
) -> Result<Picture, CodecError> {
    // Signature, dimensions, the alpha hint and the version (section 3.4).
    let header = body.first_chunk::<5>().ok_or(DAMAGED)?;
    let [0x2F, rest @ ..] = header else {
        return Err(DAMAGED);
    };
    let fields = u32::from_le_bytes(*rest);
    let found = ((fields & 0x3FFF) + 1, (fields >> 14 & 0x3FFF) + 1);
    if found != size || fields >> 29 != 0 {
        return Err(DAMAGED);
    }
    let pixels = decode_headless(&body[5..], size, job)?;
    Ok(Picture {
        width: size.0,
        height: size.1,
        layout: match has_alpha {
            true => Layout::Rgba,
            false => Layout::Rgbx,
        },
        data: pixels,
    })
}

/// Decodes an image without its header, as in `ALPH` chunks.
pub(super) fn decode_headless(
    body: &[u8],
    (width, height): (u32, u32),
    job: &Job,
) -> Result<Buffer, CodecError> {
    let mut bits = BitReader::new(body);
    let (width, height) = (width as usize, height as usize);
    let (transforms, stored) = Transform::read_all(&mut bits, (width, height), job)?;
    let mut data = job.memory.zeroed(width * height * 4)?;
    let pixels = data.as_chunks_mut::<4>().0;
    let packed = &mut pixels[..stored * height];
    decode_pixels(&mut bits, (stored, height), true, packed, job)?;
    for transform in transforms.iter().rev() {
        transform.reverse(pixels, (width, height), job)?;
    }
    Ok(data)
}

/// The number of blocks of `1 << bits` pixels that cover a length.
fn blocks(length: usize, bits: u32) -> usize {
    length.div_ceil(1 << bits)
}

#[cfg(test)]
mod tests {
    use image_webp::{ColorType, WebPDecoder, WebPEncoder};

    use super::*;
    use majordomo_image_header::webp::file_chunks;

    /// Files of 97×63 pixels by libwebp: lossless, lossy with alpha, lossless with alpha.
    const LIBWEBP: &[u8] = include_bytes!("../../../tests/data/libwebp-lossless-alpha.bin");

    fn libwebp_files() -> Vec<&'static [u8]> {
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

    fn open(file: &[u8]) -> Result<Picture, CodecError> {
        let header = majordomo_image_header::measure(file).unwrap();
        let (_, body) = file_chunks(file).find(|(name, _)| name == b"VP8L").unwrap();
        let size = (header.width, header.height);
        decode(body, size, header.channels == 4, &Job::unlimited())
    }

    /// The pixels by another decoder, with an opaque alpha channel if there is none.
    fn other(file: &[u8]) -> Vec<u8> {
        let mut decoder = WebPDecoder::new(std::io::Cursor::new(file)).unwrap();
        let mut data = vec![0; decoder.output_buffer_size().unwrap()];
        decoder.read_image(&mut data).unwrap();
        if decoder.has_alpha() {
            return data;
        }
        let pixels = data.as_chunks::<3>().0.iter();
        pixels.flat_map(|&[r, g, b]| [r, g, b, 255]).collect()
    }

    fn written(width: u32, height: u32, pixel: impl Fn(u32, u32) -> [u8; 4]) -> Vec<u8> {
        let all = (0..width * height).flat_map(|at| pixel(at % width, at / width));
        let mut file = Vec::new();
        let data: Vec<u8> = all.collect();
        WebPEncoder::new(&mut file)
            .encode(&data, width, height, ColorType::Rgba8)
            .unwrap();
        file
    }

    #[test]
    fn files_decode_as_by_another_decoder() {
        let mut files: Vec<Vec<u8>> = vec![libwebp_files()[0].into(), libwebp_files()[2].into()];
        let noise = |x: u32, y: u32| (x * 0x9E37 + y * 0x85EB).wrapping_mul(0x9E37_79B1);
        for (width, height) in [(1, 1), (7, 5), (64, 1), (1, 64), (131, 67)] {
            files.push(written(width, height, |x, y| [x as u8, y as u8, 9, 255]));
            files.push(written(width, height, |x, y| noise(x, y).to_le_bytes()));
            files.push(written(width, height, |_, _| [9, 9, 200, 77]));
        }
        for (at, file) in files.iter().enumerate() {
            let picture = open(file).unwrap();
            assert!(picture.data[..] == other(file), "file {at}");
        }
    }

    #[test]
    fn truncated_files_are_refused() {
        let file = libwebp_files()[0];
        let (_, body) = file_chunks(file).find(|(name, _)| name == b"VP8L").unwrap();
        for end in [0, 4, 5, 9, body.len() / 2, body.len() - 8] {
            let cut = decode(&body[..end], (97, 63), false, &Job::unlimited());
            assert_eq!(cut.unwrap_err(), DAMAGED, "{end}");
        }
    }
}
