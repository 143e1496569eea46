//! The pixels of a block: what its neighbours suggest, corrected.

use fearless_simd::{Simd, prelude::*, u8x16};

use super::Decoder;
use super::differences::{add_to_rows, differences};
use super::modes::{Block, Luma, Mode};
use super::predict::{Around, mean};
use super::small::paint_small;

/// The pixels on the left of a block.
pub(super) struct Left {
    luma: [u8; 16],
    /// Eight of each colour.
    colors: [u8; 16],
}

impl Left {
    /// What stands for them at the edge of the picture.
    pub(super) const NOTHING: Self = Self {
        luma: [129; 16],
        colors: [129; 16],
    };
}

/// For each row of brightness, which pixel is on its left.
const LUMA: [[u8; 16]; 16] = {
    let mut rows = [[0; 16]; 16];
    let mut y = 0;
    while y < 16 {
        rows[y] = [y as u8; 16];
        y += 1;
    }
    rows
};
/// For each row of both colours, which pixels are on the left of its halves.
const COLORS: [[u8; 16]; 8] = {
    let mut rows = [[0; 16]; 8];
    let mut at = 0;
    while at < 128 {
        rows[at / 16][at % 16] = (at / 16 + at % 16 / 8 * 8) as u8;
        at += 1;
    }
    rows
};

impl Decoder<'_> {
    /// The neighbours of the first block of a row: nothing on the left.
    pub(super) fn start_painting(&mut self, row: usize) {
        let corner = if row == 0 { 127 } else { 129 };
        for above in &mut self.above {
            above[0] = corner;
        }
        self.left = Left::NOTHING;
    }

    /// Puts the pixels of a block together.
    #[inline(always)]
    pub(super) fn paint<S: Simd>(&mut self, simd: S, block: &Block, row: usize, column: usize) {
        self.paint_luma(simd, block, row, column);
        self.paint_colors(simd, block, row, column);
    }

    #[inline(always)]
    fn paint_luma<S: Simd>(&mut self, simd: S, block: &Block, row: usize, column: usize) {
        let above = self.above[0][column * 16..].first_chunk();
        let above: &[u8; 21] = above.expect("there are four more than the blocks have");
        let (residuals, left) = (&self.residuals, &self.left.luma);
        let mut rows = [u8x16::splat(simd, 0); 16];
        match &block.luma {
            Luma::Whole(mode) => {
                let (corner, above) = (above[0], &above[1..17]);
                let mean = match mode {
                    Mode::Mean => mean(above, left, row > 0, column > 0),
                    _ => 0,
                };
                let around = Around {
                    above: u8x16::from_slice(simd, above),
                    left: u8x16::from_slice(simd, left),
                    corner: u8x16::splat(simd, corner),
                    mean: u8x16::splat(simd, mean),
                };
                around.predict(*mode, &LUMA, &mut rows);
                if residuals.counts[..16].iter().any(|count| *count > 0) {
                    for (y, rows) in rows.as_chunks_mut().0.iter_mut().enumerate() {
                        let at = y * 4;
                        let places = [at, at + 1, at + 2, at + 3];
                        add_to_rows(differences(simd, residuals, places), rows);
                    }
                }
            }
            Luma::Small(modes) => paint_small(simd, modes, above, left, residuals, &mut rows),
        }
        let stride = self.across * 16;
        let start = row * 16 * stride + column * 16;
        let [plane, ..] = self.planes.each();
        for (y, (row, left)) in rows.iter().zip(&mut self.left.luma).enumerate() {
            row.store_slice(&mut plane[start + y * stride..][..16]);
            *left = row[15];
        }
    }

    /// Both colours beside each other, as they are predicted in the same way.
    #[inline(always)]
    fn paint_colors<S: Simd>(&mut self, simd: S, block: &Block, row: usize, column: usize) {
        let [_, blue, red] = &self.above;
        let (blue, red) = (&blue[column * 8..][..9], &red[column * 8..][..9]);
        let mut above = [0; 16];
        above[..8].copy_from_slice(&blue[1..]);
        above[8..].copy_from_slice(&red[1..]);
        let (mut blue_mean, mut red_mean) = (0, 0);
        if block.color == Mode::Mean {
            let (blue_left, red_left) = self.left.colors.split_at(8);
            blue_mean = mean(&above[..8], blue_left, row > 0, column > 0);
            red_mean = mean(&above[8..], red_left, row > 0, column > 0);
        }
        let around = Around {
            above: u8x16::load_array(simd, above),
            left: u8x16::load_array(simd, self.left.colors),
            corner: both(simd, blue[0], red[0]),
            mean: both(simd, blue_mean, red_mean),
        };
        let mut rows = [u8x16::splat(simd, 0); 8];
        around.predict(block.color, &COLORS, &mut rows);
        let residuals = &self.residuals;
        if residuals.counts[16..].iter().any(|count| *count > 0) {
            for (y, rows) in rows.as_chunks_mut().0.iter_mut().enumerate() {
                let at = 16 + y * 2;
                let places = [at, at + 1, at + 4, at + 5];
                add_to_rows(differences(simd, residuals, places), rows);
            }
        }
        let stride = self.across * 8;
        let start = row * 8 * stride + column * 8;
        let [_, blue, red] = self.planes.each();
        let (blue_left, red_left) = self.left.colors.split_at_mut(8);
        for (y, row) in rows.iter().enumerate() {
            let (blue_row, red_row) = row.as_array().split_at(8);
            blue[start + y * stride..][..8].copy_from_slice(blue_row);
            red[start + y * stride..][..8].copy_from_slice(red_row);
            (blue_left[y], red_left[y]) = (blue_row[7], red_row[7]);
        }
    }
}

/// Eight times each.
#[inline(always)]
fn both<S: Simd>(simd: S, blue: u8, red: u8) -> u8x16<S> {
    let mut both = [blue; 16];
    both[8..].fill(red);
    u8x16::load_array(simd, both)
}
