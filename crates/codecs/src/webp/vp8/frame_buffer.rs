//! The Y, U and V planes of a frame, padded to whole macroblocks, in one buffer that
//! becomes the picture.

use crate::memory::Buffer;
use crate::picture::{ChromaSize, Layout, Picture};
use crate::{CodecError, Job};

/// Side of a macroblock in each plane.
pub(super) const SIDES: [usize; 3] = [16, 8, 8];
/// Rows at the bottom of a macroblock that the loop filter of the next row still reads.
const FILTER_REACH: usize = 4;

pub(super) struct FrameBuffer {
    data: Buffer,
    /// Macroblock columns and rows.
    across: usize,
    down: usize,
}

impl FrameBuffer {
    pub(super) fn new(across: usize, down: usize, job: &Job) -> Result<Self, CodecError> {
        let pixels = SIDES.map(|side| across * down * side * side);
        Ok(Self {
            data: job.memory.zeroed(pixels.iter().sum())?,
            across,
            down,
        })
    }

    #[inline(always)]
    pub(super) fn planes(&mut self) -> [&mut [u8]; 3] {
        let blocks = self.across * self.down;
        let (luma, chroma) = self.data.split_at_mut(blocks * 256);
        let (u, v) = chroma.split_at_mut(blocks * 64);
        [luma, u, v]
    }

    /// Expands the finished rows from the limited range of BT.601 (luma 16 to 235) to the
    /// full range of JPEG.
    #[inline(always)]
    pub(super) fn expand_range(&mut self, row: usize) {
        let (across, is_last) = (self.across, row + 1 == self.down);
        let [luma, u, v] = self.planes();
        let rows = |side: usize| {
            let from = (row * side).saturating_sub(FILTER_REACH);
            let to = (row + 1) * side - if is_last { 0 } else { FILTER_REACH };
            from * across * side..to * across * side
        };
        for value in &mut luma[rows(16)] {
            *value = expand_luma(*value);
        }
        for plane in [u, v] {
            for value in &mut plane[rows(8)] {
                *value = expand_chroma(*value);
            }
        }
    }

    /// Crops the padding off.
    pub(super) fn finish(mut self, width: usize, height: usize) -> Picture {
        let half = (width.div_ceil(2), height.div_ceil(2));
        let (mut plane, mut end) = (0, 0);
        for (side, (width, height)) in SIDES.into_iter().zip([(width, height), half, half]) {
            let stride = self.across * side;
            for row in 0..height {
                let from = plane + row * stride;
                if from > end {
                    self.data.copy_within(from..from + width, end);
                }
                end += width;
            }
            plane += stride * self.down * side;
        }
        self.data.truncate(end);
        Picture {
            width: width as u32,
            height: height as u32,
            layout: Layout::YCbCr(ChromaSize {
                width: half.0 as u32,
                height: half.1 as u32,
            }),
            data: self.data,
        }
    }
}

/// `(value - 16) * 255 / 219`. 16-bit arithmetic is exact, and twice as fast as 32-bit.
#[inline(always)]
fn expand_luma(value: u8) -> u8 {
    let above_black = u16::from(value.saturating_sub(16));
    (above_black + scale_16(above_black + 3, 10_774)).min(255) as u8
}

/// `(value - 128) * 255 / 224 + 128`.
#[inline(always)]
fn expand_chroma(value: u8) -> u8 {
    let value = u16::from(value);
    let moved = value + scale_16(value * 10 + 57, 907);
    moved.saturating_sub(18).min(255) as u8
}

/// `value * parts / 65536`.
#[inline(always)]
fn scale_16(value: u16, parts: u16) -> u16 {
    ((u32::from(value) * u32::from(parts)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_expansion_rounds_to_the_nearest_value() {
        for value in 0..=255 {
            let nearest = |from: f64, parts: f64, to: f64| {
                ((f64::from(value) - from) * 255.0 / parts + to).round() as u8
            };
            assert_eq!(expand_luma(value), nearest(16.0, 219.0, 0.0), "{value}");
            assert_eq!(
                expand_chroma(value),
                nearest(128.0, 224.0, 128.0),
                "{value}"
            );
        }
    }
}
