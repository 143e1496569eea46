//! Lossless WebP, for targets that accept nothing else: green subtracted, rows predicted from
//! those above, one group of codes, runs of equal pixels. Section numbers are those of RFC 9649.
//!
//! Rows are coded twice, to count symbols and to write them, so that no copy of the picture is
//! needed and the size of the file is known before its first byte.

mod bits;
mod prefix_code;
mod residuals;

use std::io::Write;

use crate::picture::{Layout, Picture};
use crate::{CodecError, Job};
use bits::BitWriter;
use prefix_code::{PrefixCode, describe_single};
use residuals::for_each_row;

/// Red, green, blue, alpha: their differences from the prediction.
type Residual = [u8; 4];

const LITERALS: usize = 256;
/// Literals of green, then prefixes of lengths.
const GREENS: usize = LITERALS + 24;
/// The longest backward reference.
const MAX_RUN: u32 = 4096;
/// The prediction from the pixel above (section 4.1).
const TOP: u8 = 2;
/// The prefix of the distance code of the pixel to the left (section 3.6.2.2).
const LEFT: u8 = 1;

pub(crate) fn encode(picture: &Picture, job: &Job, out: &mut impl Write) -> Result<(), CodecError> {
    let failed = |_| CodecError::Failed;
    let mut counts = Counts::default();
    each_token(picture, job, |token| {
        counts.add(token);
        Ok(())
    })?;
    let codes = Codes::new(&counts);
    let mut bits = BitWriter::default();
    write_header(picture, &codes, &mut bits);
    let body = (bits.bits() + codes.cost(&counts)).div_ceil(8);
    let padding = body % 2;
    // The chunk's name and size, and the file's kind.
    let file = u32::try_from(body + padding + 12).map_err(|_| CodecError::Failed)?;
    out.write_all(b"RIFF").map_err(failed)?;
    out.write_all(&file.to_le_bytes()).map_err(failed)?;
    out.write_all(b"WEBPVP8L").map_err(failed)?;
    out.write_all(&(body as u32).to_le_bytes())
        .map_err(failed)?;
    each_token(picture, job, |token| {
        codes.write(token, &mut bits);
        if bits.bytes.len() >= PIECE {
            out.write_all(&bits.bytes).map_err(failed)?;
            bits.bytes.clear();
        }
        Ok(())
    })?;
    bits.finish();
    out.write_all(&bits.bytes).map_err(failed)?;
    out.write_all(&[0][..padding as usize]).map_err(failed)
}

/// Bytes written at once.
const PIECE: usize = 16 << 10;

/// The stream up to the first pixel (sections 3.4, 4 and 3.7.2).
fn write_header(picture: &Picture, codes: &Codes, out: &mut BitWriter) {
    out.put(0x2F, 8);
    out.put(picture.width - 1, 14);
    out.put(picture.height - 1, 14);
    out.put(u32::from(picture.layout == Layout::Rgba), 1);
    // The version.
    out.put(0, 3);
    // Subtract green.
    out.put(0b101, 3);
    // Prediction, in the largest blocks, all of the same mode.
    out.put(0b11_1001, 6);
    out.put(0, 1);
    for symbol in [TOP, 0, 0, 0, 0] {
        describe_single(symbol, out);
    }
    // No more transforms, no colour cache, one group of codes.
    out.put(0, 3);
    for code in [&codes.green, &codes.red, &codes.blue, &codes.alpha] {
        code.describe(out);
    }
    describe_single(LEFT, out);
}

/// What is coded.
#[derive(Clone, Copy)]
enum Token {
    Pixel(Residual),
    /// So many pixels more like the last one.
    Run(u32),
}

fn each_token(
    picture: &Picture,
    job: &Job,
    mut take: impl FnMut(Token) -> Result<(), CodecError>,
) -> Result<(), CodecError> {
    let (mut last, mut run) = (None, 0);
    for_each_row(picture, job, |row| {
        for pixel in row {
            if last == Some(*pixel) {
                run += 1;
                if run == MAX_RUN {
                    take(Token::Run(std::mem::take(&mut run)))?;
                }
                continue;
            }
            if run > 0 {
                take(Token::Run(std::mem::take(&mut run)))?;
            }
            take(Token::Pixel(*pixel))?;
            last = Some(*pixel);
        }
        Ok(())
    })?;
    match run {
        0 => Ok(()),
        run => take(Token::Run(run)),
    }
}

/// The prefix of a length, and its extra bits (section 3.6.2.2).
fn length_prefix(length: u32) -> (usize, u32, u32) {
    let value = length - 1;
    if value < 4 {
        return (value as usize, 0, 0);
    }
    let highest = value.ilog2();
    let extra_bits = highest - 1;
    let second = value >> extra_bits & 1;
    let extra = value & ((1 << extra_bits) - 1);
    ((2 * highest + second) as usize, extra, extra_bits)
}

/// How often each symbol occurs.
struct Counts {
    green: [u32; GREENS],
    red: [u32; LITERALS],
    blue: [u32; LITERALS],
    alpha: [u32; LITERALS],
    extra_bits: u64,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            green: [0; GREENS],
            red: [0; LITERALS],
            blue: [0; LITERALS],
            alpha: [0; LITERALS],
            extra_bits: 0,
        }
    }
}

impl Counts {
    #[inline(always)]
    fn add(&mut self, token: Token) {
        match token {
            Token::Pixel([red, green, blue, alpha]) => {
                self.green[usize::from(green)] += 1;
                self.red[usize::from(red)] += 1;
                self.blue[usize::from(blue)] += 1;
                self.alpha[usize::from(alpha)] += 1;
            }
            Token::Run(length) => {
                let (prefix, _, extra_bits) = length_prefix(length);
                self.green[LITERALS + prefix] += 1;
                self.extra_bits += u64::from(extra_bits);
            }
        }
    }
}

struct Codes {
    green: PrefixCode,
    red: PrefixCode,
    blue: PrefixCode,
    alpha: PrefixCode,
}

impl Codes {
    fn new(counts: &Counts) -> Self {
        Self {
            green: PrefixCode::new(&counts.green),
            red: PrefixCode::new(&counts.red),
            blue: PrefixCode::new(&counts.blue),
            alpha: PrefixCode::new(&counts.alpha),
        }
    }

    /// The bits of all pixels.
    fn cost(&self, counts: &Counts) -> u64 {
        self.green.cost(&counts.green)
            + self.red.cost(&counts.red)
            + self.blue.cost(&counts.blue)
            + self.alpha.cost(&counts.alpha)
            + counts.extra_bits
    }

    #[inline(always)]
    fn write(&self, token: Token, out: &mut BitWriter) {
        match token {
            Token::Pixel([red, green, blue, alpha]) => {
                for (a, b) in [
                    (self.green.of(green.into()), self.red.of(red.into())),
                    (self.blue.of(blue.into()), self.alpha.of(alpha.into())),
                ] {
                    out.put(a.0 | b.0 << a.1, a.1 + b.1);
                }
            }
            Token::Run(length) => {
                let (prefix, extra, extra_bits) = length_prefix(length);
                let (bits, length) = self.green.of(LITERALS + prefix);
                out.put(bits, length);
                out.put(extra, extra_bits);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use image_webp::{ColorType, WebPDecoder, WebPEncoder};

    use super::*;

    fn drawn(layout: Layout, (width, height): (u32, u32), kind: u32) -> Picture {
        let mut seed = 5_u32;
        let data = (0..width * height).flat_map(|at| {
            let (x, y) = (at % width, at / width);
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let pixel = match kind {
                0 => [9, 9, 9, 255],
                1 => [seed >> 24, seed >> 16, seed >> 8, seed >> 12],
                2 => [x, y, x + y, x * 2],
                _ => [x / 40 * 60, y / 9 * 20, 200, 255 * (x / 50 % 2)],
            };
            let pixel = pixel.map(|value| value as u8);
            pixel.into_iter().take(layout.bytes_per_pixel().unwrap())
        });
        Picture {
            width,
            height,
            layout,
            data: data.collect::<Vec<u8>>().into(),
        }
    }

    fn written(picture: &Picture) -> Vec<u8> {
        let mut out = Vec::new();
        encode(picture, &Job::unlimited(), &mut out).unwrap();
        out
    }

    /// Read back by another decoder; compared in size with another encoder of the same
    /// methods.
    #[test]
    fn every_picture_is_read_back_exactly_and_is_not_larger_than_by_another_encoder() {
        for layout in [Layout::Rgb, Layout::Rgba] {
            for size in [(1, 1), (1, 700), (700, 1), (64, 64), (203, 149)] {
                for kind in 0..4 {
                    let picture = drawn(layout, size, kind);
                    let file = written(&picture);
                    let mut decoder = WebPDecoder::new(std::io::Cursor::new(&file)).unwrap();
                    assert_eq!(decoder.dimensions(), size);
                    assert_eq!(decoder.has_alpha(), layout == Layout::Rgba);
                    let mut pixels = vec![0; decoder.output_buffer_size().unwrap()];
                    decoder.read_image(&mut pixels).unwrap();
                    assert!(pixels[..] == picture.data[..], "{layout:?} {size:?} {kind}");
                    let color = match layout {
                        Layout::Rgba => ColorType::Rgba8,
                        _ => ColorType::Rgb8,
                    };
                    let mut other = Vec::new();
                    WebPEncoder::new(&mut other)
                        .encode(&picture.data, size.0, size.1, color)
                        .unwrap();
                    // Noise does not compress: the tables of each coding differ by a few bytes.
                    assert!(
                        file.len() <= other.len() + other.len() / 1_000 + 16,
                        "{layout:?} {size:?} {kind}: {} and {}",
                        file.len(),
                        other.len()
                    );
                }
            }
        }
    }

    #[test]
    fn the_unused_byte_of_a_pixel_is_no_transparency() {
        let picture = drawn(Layout::Rgbx, (40, 30), 1);
        let file = written(&picture);
        assert!(
            !WebPDecoder::new(std::io::Cursor::new(&file))
                .unwrap()
                .has_alpha()
        );
    }
}
