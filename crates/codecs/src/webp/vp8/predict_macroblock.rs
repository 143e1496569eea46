//! Intra prediction of whole macroblocks (RFC 6386, section 12.2).

use fearless_simd::{Simd, prelude::*, u8x16};

use super::intra_modes::MacroblockMode;

/// The edges of one 16-pixel block, or of two 8-pixel blocks side by side.
pub(super) struct PredictionEdges<S: Simd> {
    pub(super) above: u8x16<S>,
    /// From top to bottom.
    pub(super) left: u8x16<S>,
    pub(super) above_left: u8x16<S>,
    /// The DC value; used by [`MacroblockMode::DcPred`] only.
    pub(super) dc: u8x16<S>,
}

impl<S: Simd> PredictionEdges<S> {
    /// Predicts all rows. `beside` selects, per row, the pixels of `left` next to it.
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

/// TM_PRED: `above + left - above_left`, clamped.
#[inline(always)]
pub(super) fn tm_pred<S: Simd>(above: u8x16<S>, left: u8x16<S>, above_left: u8x16<S>) -> u8x16<S> {
    above
        .saturating_add(left.saturating_sub(above_left))
        .saturating_sub(above_left.saturating_sub(left))
}

/// DC_PRED: the mean of the edges that lie inside the picture, or 128.
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
