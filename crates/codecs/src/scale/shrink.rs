//! Means of whole blocks of pixels, the first step of a reduction by a large ratio.

use super::{Channels, PixelView};
use crate::{CodecError, Job};

/// The largest ratio that the Lanczos kernel reduces by itself.
const MAX_RATIO: u32 = 16;
/// The minimum ratio that remains for the kernel, so that aliasing of the means is far below
/// its passband.
const LEFT: u32 = 8;
/// Target pixels between two polls of the stop flag.
const POLL: usize = 4 << 10;

/// A grid of blocks over the source; those at the right and bottom edges may be smaller.
pub(super) struct BlockMeans {
    from: (u32, u32),
    block: (u32, u32),
}

impl BlockMeans {
    /// `None` if neither ratio is large.
    pub(super) fn new(from: (u32, u32), to: (u32, u32)) -> Option<Self> {
        let side = |from: u32, to: u32| match from / to.max(1) {
            ratio if ratio > MAX_RATIO => ratio / LEFT,
            _ => 1,
        };
        let block = (side(from.0, to.0), side(from.1, to.1));
        (block != (1, 1)).then_some(Self { from, block })
    }

    /// Blocks across and down.
    pub(super) fn size(&self) -> (u32, u32) {
        let across = self.from.0.div_ceil(self.block.0);
        (across, self.from.1.div_ceil(self.block.1))
    }

    /// Converts lengths in pixels to lengths in blocks.
    pub(super) fn lengths(&self, (across, down): (f64, f64)) -> (f64, f64) {
        (
            across / f64::from(self.block.0),
            down / f64::from(self.block.1),
        )
    }

    /// Computes the mean of each block; colours with alpha are weighted by it.
    pub(super) fn fill(
        &self,
        source: PixelView<'_>,
        out: &mut [u8],
        job: &Job,
    ) -> Result<(), CodecError> {
        match source.channels {
            Channels::One => self.fill_by::<1, false>(source, out, job),
            Channels::Three => self.fill_by::<3, false>(source, out, job),
            Channels::Four => self.fill_by::<4, false>(source, out, job),
            Channels::WithAlpha => self.fill_by::<4, true>(source, out, job),
        }
    }

    fn fill_by<const N: usize, const ALPHA: bool>(
        &self,
        source: PixelView<'_>,
        out: &mut [u8],
        job: &Job,
    ) -> Result<(), CodecError> {
        let (across, _) = self.size();
        let block = (self.block.0 as usize, self.block.1 as usize);
        let width = self.from.0 as usize;
        let rows = source.data.as_chunks::<N>().0;
        let bands = rows[..width * self.from.1 as usize].chunks(width * block.1);
        for (band, out) in bands.zip(out.chunks_exact_mut(across as usize * N)) {
            for (at, out) in out.as_chunks_mut::<N>().0.iter_mut().enumerate() {
                // A block may have millions of pixels, a band millions of blocks.
                if at.is_multiple_of((POLL / block.0.min(POLL)).max(1)) {
                    job.check()?;
                }
                let left = at * block.0;
                let right = (left + block.0).min(width);
                let lines = band.chunks_exact(width).map(|row| &row[left..right]);
                *out = match ALPHA {
                    true => weighted_mean(lines),
                    false => mean(lines),
                };
            }
        }
        Ok(())
    }
}

fn mean<'a, const N: usize>(lines: impl Iterator<Item = &'a [[u8; N]]>) -> [u8; N] {
    let (mut sums, mut count) = ([0_u64; N], 0_u64);
    for line in lines {
        count += line.len() as u64;
        // Sums of 65,536 bytes fit 32 bits.
        for line in line.chunks(1 << 16) {
            let mut part = [0_u32; N];
            for pixel in line {
                for (sum, value) in part.iter_mut().zip(pixel) {
                    *sum += u32::from(*value);
                }
            }
            for (sum, part) in sums.iter_mut().zip(part) {
                *sum += u64::from(part);
            }
        }
    }
    sums.map(|sum| ((sum + count / 2) / count.max(1)) as u8)
}

fn weighted_mean<'a, const N: usize>(lines: impl Iterator<Item = &'a [[u8; N]]>) -> [u8; N] {
    let (mut sums, mut alphas, mut count) = ([0_u64; N], 0_u64, 0_u64);
    for line in lines {
        count += line.len() as u64;
        for pixel in line {
            let alpha = u64::from(pixel[N - 1]);
            alphas += alpha;
            for (sum, value) in sums.iter_mut().zip(pixel) {
                *sum += u64::from(*value) * alpha;
            }
        }
    }
    let mut mean = sums.map(|sum| ((sum + alphas / 2).checked_div(alphas).unwrap_or(0)) as u8);
    mean[N - 1] = ((alphas + count / 2) / count.max(1)) as u8;
    mean
}
