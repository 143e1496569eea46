//! Pixels as their neighbours suggest them.

use fearless_simd::{Simd, prelude::*, u8x16};

use super::modes::Mode;

/// What is around rows of sixteen pixels, of one block or of two that are half
/// as wide.
pub(super) struct Around<S: Simd> {
    pub(super) above: u8x16<S>,
    /// What is beside the rows, from above.
    pub(super) left: u8x16<S>,
    pub(super) corner: u8x16<S>,
    /// Of those above and on the left; only for [`Mode::Mean`].
    pub(super) mean: u8x16<S>,
}

impl<S: Simd> Around<S> {
    /// Fills rows, for each of which is told where the pixels are that are beside
    /// it.
    #[inline(always)]
    pub(super) fn predict<const ROWS: usize>(
        &self,
        mode: Mode,
        beside: &[[u8; 16]; ROWS],
        rows: &mut [u8x16<S>; ROWS],
    ) {
        for (row, beside) in rows.iter_mut().zip(beside) {
            let left = self.left.swizzle_dyn_within_blocks(*beside);
            *row = match mode {
                Mode::Mean => self.mean,
                Mode::Down => self.above,
                Mode::Right => left,
                Mode::Slope => slope(self.above, left, self.corner),
            };
        }
    }
}

/// Pixels that differ from those above as those on the left do from the corner.
#[inline(always)]
pub(super) fn slope<S: Simd>(above: u8x16<S>, left: u8x16<S>, corner: u8x16<S>) -> u8x16<S> {
    above
        .saturating_add(left.saturating_sub(corner))
        .saturating_sub(corner.saturating_sub(left))
}

/// The mean of the neighbours above and on the left. At the upper and left edge
/// of the picture there are no real ones.
#[inline(always)]
pub(super) fn mean(above: &[u8], left: &[u8], has_above: bool, has_left: bool) -> u8 {
    let side = above.len() as u32;
    let mean = match (has_above, has_left) {
        (true, true) => (sum(above) + sum(left) + side) / (side * 2),
        (true, false) => (sum(above) + side / 2) / side,
        (false, true) => (sum(left) + side / 2) / side,
        (false, false) => 128,
    };
    mean as u8
}

#[inline(always)]
fn sum(pixels: &[u8]) -> u32 {
    pixels.iter().map(|pixel| u32::from(*pixel)).sum()
}
