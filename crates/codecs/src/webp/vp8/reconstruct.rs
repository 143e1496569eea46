//! Reconstruction of macroblocks: prediction plus residue (RFC 6386, section 14.5).

use fearless_simd::{Simd, prelude::*, u8x16};

use super::FrameDecoder;
use super::intra_modes::{LumaMode, MacroblockHeader, MacroblockMode};
use super::predict_macroblock::{PredictionEdges, dc_value};
use super::predict_subblocks::predict_subblocks;
use super::residue::{add_to_rows, residues};

/// The pixels to the left of a macroblock.
pub(super) struct LeftColumn {
    luma: [u8; 16],
    /// Eight of U, eight of V.
    chroma: [u8; 16],
}

impl LeftColumn {
    /// The value outside the picture (section 12.2).
    pub(super) const OUTSIDE: Self = Self {
        luma: [129; 16],
        chroma: [129; 16],
    };
}

/// For each luma row, the index of the pixel to its left.
const LUMA_LEFT: [[u8; 16]; 16] = {
    let mut rows = [[0; 16]; 16];
    let mut y = 0;
    while y < 16 {
        rows[y] = [y as u8; 16];
        y += 1;
    }
    rows
};
/// For each row of U and V side by side, the indices of the pixels to the left of its
/// halves.
const CHROMA_LEFT: [[u8; 16]; 8] = {
    let mut rows = [[0; 16]; 8];
    let mut at = 0;
    while at < 128 {
        rows[at / 16][at % 16] = (at / 16 + at % 16 / 8 * 8) as u8;
        at += 1;
    }
    rows
};

impl FrameDecoder<'_> {
    /// Resets the left and above-left pixels at the start of a row.
    pub(super) fn start_row(&mut self, row: usize) {
        let above_left = if row == 0 { 127 } else { 129 };
        for above in &mut self.above_rows {
            above[0] = above_left;
        }
        self.left = LeftColumn::OUTSIDE;
    }

    /// Predicts a macroblock and adds its residue.
    #[inline(always)]
    pub(super) fn reconstruct<S: Simd>(
        &mut self,
        simd: S,
        block: &MacroblockHeader,
        row: usize,
        column: usize,
    ) {
        self.reconstruct_luma(simd, block, row, column);
        self.reconstruct_chroma(simd, block, row, column);
    }

    #[inline(always)]
    fn reconstruct_luma<S: Simd>(
        &mut self,
        simd: S,
        block: &MacroblockHeader,
        row: usize,
        column: usize,
    ) {
        let above = self.above_rows[0][column * 16..].first_chunk();
        let above: &[u8; 21] = above.expect("four pixels follow the last macroblock");
        let (coefficients, left) = (&self.coefficients, &self.left.luma);
        let mut rows = [u8x16::splat(simd, 0); 16];
        match &block.luma {
            LumaMode::Macroblock(mode) => {
                let (above_left, above) = (above[0], &above[1..17]);
                let dc = match mode {
                    MacroblockMode::DcPred => dc_value(above, left, row > 0, column > 0),
                    _ => 0,
                };
                let edges = PredictionEdges {
                    above: u8x16::from_slice(simd, above),
                    left: u8x16::from_slice(simd, left),
                    above_left: u8x16::splat(simd, above_left),
                    dc: u8x16::splat(simd, dc),
                };
                edges.predict(*mode, &LUMA_LEFT, &mut rows);
                if coefficients.counts[..16].iter().any(|count| *count > 0) {
                    for (y, rows) in rows.as_chunks_mut().0.iter_mut().enumerate() {
                        let at = y * 4;
                        let places = [at, at + 1, at + 2, at + 3];
                        add_to_rows(residues(simd, coefficients, places), rows);
                    }
                }
            }
            LumaMode::BPred(modes) => {
                predict_subblocks(simd, modes, above, left, coefficients, &mut rows)
            }
        }
        let stride = self.mb_cols * 16;
        let start = row * 16 * stride + column * 16;
        let [plane, ..] = self.buffer.planes();
        for (y, (row, left)) in rows.iter().zip(&mut self.left.luma).enumerate() {
            row.store_slice(&mut plane[start + y * stride..][..16]);
            *left = row[15];
        }
    }

    /// U and V side by side, since they share a prediction mode.
    #[inline(always)]
    fn reconstruct_chroma<S: Simd>(
        &mut self,
        simd: S,
        block: &MacroblockHeader,
        row: usize,
        column: usize,
    ) {
        let [_, u, v] = &self.above_rows;
        let (u, v) = (&u[column * 8..][..9], &v[column * 8..][..9]);
        let mut above = [0; 16];
        above[..8].copy_from_slice(&u[1..]);
        above[8..].copy_from_slice(&v[1..]);
        let (mut u_dc, mut v_dc) = (0, 0);
        if block.chroma == MacroblockMode::DcPred {
            let (u_left, v_left) = self.left.chroma.split_at(8);
            u_dc = dc_value(&above[..8], u_left, row > 0, column > 0);
            v_dc = dc_value(&above[8..], v_left, row > 0, column > 0);
        }
        let edges = PredictionEdges {
            above: u8x16::load_array(simd, above),
            left: u8x16::load_array(simd, self.left.chroma),
            above_left: per_plane(simd, u[0], v[0]),
            dc: per_plane(simd, u_dc, v_dc),
        };
        let mut rows = [u8x16::splat(simd, 0); 8];
        edges.predict(block.chroma, &CHROMA_LEFT, &mut rows);
        let coefficients = &self.coefficients;
        if coefficients.counts[16..].iter().any(|count| *count > 0) {
            for (y, rows) in rows.as_chunks_mut().0.iter_mut().enumerate() {
                let at = 16 + y * 2;
                let places = [at, at + 1, at + 4, at + 5];
                add_to_rows(residues(simd, coefficients, places), rows);
            }
        }
        let stride = self.mb_cols * 8;
        let start = row * 8 * stride + column * 8;
        let [_, u, v] = self.buffer.planes();
        let (u_left, v_left) = self.left.chroma.split_at_mut(8);
        for (y, row) in rows.iter().enumerate() {
            let (u_row, v_row) = row.as_array().split_at(8);
            u[start + y * stride..][..8].copy_from_slice(u_row);
            v[start + y * stride..][..8].copy_from_slice(v_row);
            (u_left[y], v_left[y]) = (u_row[7], v_row[7]);
        }
    }
}

/// Eight lanes of each value.
#[inline(always)]
fn per_plane<S: Simd>(simd: S, u: u8, v: u8) -> u8x16<S> {
    let mut per_plane = [u; 16];
    per_plane[8..].fill(v);
    u8x16::load_array(simd, per_plane)
}
