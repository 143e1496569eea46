//! Pixels as their neighbours suggest them.

use fearless_simd::{Simd, prelude::*, u8x16};

use super::intra_modes::MacroblockMode;

/// What is edges rows of sixteen pixels, of one block or of two that are half
/// as wide.
pub(super) struct PredictionEdges<S: Simd> {
    pub(super) above: u8x16<S>,
    /// What is beside the rows, from above.
    pub(super) left: u8x16<S>,
    pub(super) above_left: u8x16<S>,
    /// Of those above and on the left; only for [`MacroblockMode::DcPred`].
    pub(super) dc: u8x16<S>,
}

impl<S: Simd> PredictionEdges<S> {
    /// Fills rows, for each of which is told where the pixels are that are beside
    /// it.
    #[inline(always)]
    pub(super) fn predict<const ROWS: usize>(
        &self,
        mode: MacroblockMode,
        beside: &[[u8; 16]; ROWS],
        rows: &mut [u8x16<S>; ROWS],
    ) {
        for (row, beside) in rows.iter_mut().zip(beside) {
            let left = self.left.swizzle_dyn_within_blocks(*beside);
            *row = match mode {
                MacroblockMode::DcPred => self.dc,
                MacroblockMode::VPred => self.above,
                MacroblockMode::HPred => left,
                MacroblockMode::TmPred => tm_pred(self.above, left, self.above_left),
            };
        }
    }
}

/// Pixels that differ from those above as those on the left do from the above_left.
#[inline(always)]
pub(super) fn tm_pred<S: Simd>(above: u8x16<S>, left: u8x16<S>, above_left: u8x16<S>) -> u8x16<S> {
    above
        .saturating_add(left.saturating_sub(above_left))
        .saturating_sub(above_left.saturating_sub(left))
}

/// The mean of the neighbours above and on the left. At the upper and left edge
/// of the picture there are no real ones.
#[inline(always)]
pub(super) fn dc_value(above: &[u8], left: &[u8], has_above: bool, has_left: bool) -> u8 {
    let side = above.len() as u32;
    let dc = match (has_above, has_left) {
        (true, true) => (sum(above) + sum(left) + side) / (side * 2),
        (true, false) => (sum(above) + side / 2) / side,
        (false, true) => (sum(left) + side / 2) / side,
        (false, false) => 128,
    };
    dc as u8
}

#[inline(always)]
fn sum(pixels: &[u8]) -> u32 {
    pixels.iter().map(|pixel| u32::from(*pixel)).sum()
}
