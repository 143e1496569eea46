//! Transforms (section 4), reversed in place.

use super::bits::BitReader;
use super::entropy_image::decode_pixels;
use super::predictor::reverse_prediction;
use super::{Pixel, blocks};
use crate::memory::Buffer;
use crate::webp::decode::DAMAGED;
use crate::{CodecError, Job};

pub(super) enum Transform {
    Predictor(BlockData),
    Color(BlockData),
    SubtractGreen,
    ColorIndexing {
        /// How many times the width of a packed pixel is halved: 0 to 3.
        bits: u32,
        table: Box<[Pixel; 256]>,
    },
}

/// One value for each block of pixels.
pub(super) struct BlockData {
    /// Bits of a block's side.
    pub(super) bits: u32,
    /// Blocks per row.
    pub(super) across: usize,
    /// Pixels per row of the image that it covers.
    width: usize,
    pub(super) data: Buffer<Pixel>,
}

impl Transform {
    /// Reads all transforms; returns them with the width of the stored image.
    pub(super) fn read_all(
        bits: &mut BitReader<'_>,
        (mut width, height): (usize, usize),
        job: &Job,
    ) -> Result<(Vec<Self>, usize), CodecError> {
        let mut transforms = Vec::new();
        let mut seen = [false; 4];
        while bits.read(1) == 1 {
            let kind = bits.read(2) as usize;
            if std::mem::replace(&mut seen[kind], true) {
                return Err(DAMAGED);
            }
            transforms.push(match kind {
                0 => Self::Predictor(BlockData::read(bits, (width, height), job)?),
                1 => Self::Color(BlockData::read(bits, (width, height), job)?),
                2 => Self::SubtractGreen,
                _ => {
                    let size = bits.read(8) as usize + 1;
                    let mut table = Box::new([[0; 4]; 256]);
                    decode_pixels(bits, (size, 1), false, &mut table[..size], job)?;
                    for at in 1..size {
                        table[at] = add(table[at], table[at - 1]);
                    }
                    let packing = match size {
                        1..=2 => 3,
                        3..=4 => 2,
                        5..=16 => 1,
                        _ => 0,
                    };
                    width = blocks(width, packing);
                    Self::ColorIndexing {
                        bits: packing,
                        table,
                    }
                }
            });
        }
        Ok((transforms, width))
    }

    /// Reverses the transform. A packed image occupies the first part of `pixels`.
    pub(super) fn reverse(
        &self,
        pixels: &mut [Pixel],
        (width, height): (usize, usize),
        job: &Job,
    ) -> Result<(), CodecError> {
        match self {
            Self::Predictor(modes) => {
                // Transforms that were read after a packing one see the packed image.
                let width = modes.width.min(width);
                reverse_prediction(&mut pixels[..width * height], width, modes, job)
            }
            Self::Color(blocks) => {
                let width = blocks.width.min(width);
                let rows = pixels[..width * height].chunks_exact_mut(width);
                for (y, row) in rows.enumerate() {
                    job.check()?;
                    let start = (y >> blocks.bits) * blocks.across;
                    let elements = &blocks.data[start..start + blocks.across];
                    for (row, element) in row.chunks_mut(1 << blocks.bits).zip(elements) {
                        row.iter_mut().for_each(|pixel| add_color(pixel, *element));
                    }
                }
                Ok(())
            }
            Self::SubtractGreen => {
                for pixels in pixels.chunks_mut(1 << 16) {
                    job.check()?;
                    for [red, green, blue, _] in pixels {
                        *red = red.wrapping_add(*green);
                        *blue = blue.wrapping_add(*green);
                    }
                }
                Ok(())
            }
            Self::ColorIndexing { bits, table } => {
                let packed = blocks(width, *bits);
                let mask = (1 << (8 >> bits)) - 1;
                // Backwards: the unpacked row never overtakes the packed one.
                for y in (0..height).rev() {
                    job.check()?;
                    for x in (0..width).rev() {
                        let index = pixels[y * packed + (x >> bits)][1];
                        let place = (x & ((1 << bits) - 1)) as u32 * (8 >> bits);
                        pixels[y * width + x] = table[usize::from(index >> place) & mask];
                    }
                }
                Ok(())
            }
        }
    }
}

impl BlockData {
    fn read(
        bits: &mut BitReader<'_>,
        (width, height): (usize, usize),
        job: &Job,
    ) -> Result<Self, CodecError> {
        let side = bits.read(3) + 2;
        let (across, down) = (blocks(width, side), blocks(height, side));
        let mut data = job.memory.zeroed(across * down)?;
        decode_pixels(bits, (across, down), false, &mut data, job)?;
        Ok(Self {
            bits: side,
            across,
            width,
            data,
        })
    }
}

pub(super) fn add(a: Pixel, b: Pixel) -> Pixel {
    std::array::from_fn(|channel| a[channel].wrapping_add(b[channel]))
}

/// Adds the encoder's predictions: from green to red, and from both to blue.
#[inline(always)]
fn add_color(pixel: &mut Pixel, [red_to_blue, green_to_blue, green_to_red, _]: Pixel) {
    let delta = |factor: u8, color: u8| {
        let product = i16::from(factor.cast_signed()) * i16::from(color.cast_signed());
        (product >> 5) as u8
    };
    let [red, green, blue, _] = pixel;
    *red = red.wrapping_add(delta(green_to_red, *green));
    *blue = blue.wrapping_add(delta(green_to_blue, *green));
    *blue = blue.wrapping_add(delta(red_to_blue, *red));
}
