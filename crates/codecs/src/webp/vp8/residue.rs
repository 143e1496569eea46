//! The residue of a macroblock, added to its prediction (RFC 6386, section 14.5).

use fearless_simd::{Simd, i16x8, i16x16, prelude::*, u8x16, u16x16, u32x4};

use super::coefficients::Coefficients;
use super::inverse_transform::inverse_dct;

/// The residue of 16 pixels, split by sign so that bytes suffice: one of both is zero.
#[derive(Clone, Copy)]
pub(super) struct Residue<S: Simd> {
    positive: u8x16<S>,
    negative: u8x16<S>,
}

impl<S: Simd> Residue<S> {
    #[inline(always)]
    pub(super) fn none(simd: S) -> Self {
        Self {
            positive: u8x16::splat(simd, 0),
            negative: u8x16::splat(simd, 0),
        }
    }

    /// The residues of two blocks, from the upper and lower halves of both.
    #[inline(always)]
    fn two(simd: S, upper: i16x16<S>, lower: i16x16<S>) -> [Self; 2] {
        let none = i16x16::splat(simd, 0);
        let positive = bytes(simd, upper, lower);
        let negative = bytes(simd, none - upper, none - lower);
        [
            Self {
                positive: positive.0,
                negative: negative.0,
            },
            Self {
                positive: positive.1,
                negative: negative.1,
            },
        ]
    }

    /// Adds the residue to predicted pixels, with saturation.
    #[inline(always)]
    pub(super) fn add_to(self, pixels: u8x16<S>) -> u8x16<S> {
        pixels
            .saturating_add(self.positive)
            .saturating_sub(self.negative)
    }
}

/// Adds the residues of four adjacent blocks to their rows.
#[inline(always)]
pub(super) fn add_to_rows<S: Simd>([a, b, c, d]: [Residue<S>; 4], rows: &mut [u8x16<S>; 4]) {
    let positive = side_by_side([a.positive, b.positive, c.positive, d.positive]);
    let negative = side_by_side([a.negative, b.negative, c.negative, d.negative]);
    for (row, (positive, negative)) in rows.iter_mut().zip(positive.into_iter().zip(negative)) {
        *row = Residue { positive, negative }.add_to(*row);
    }
}

/// Four blocks stored row after row, as four rows that run across them.
#[inline(always)]
pub(super) fn side_by_side<S: Simd>([a, b, c, d]: [u8x16<S>; 4]) -> [u8x16<S>; 4] {
    let (a, b): (u32x4<S>, u32x4<S>) = (a.bitcast(), b.bitcast());
    let (c, d): (u32x4<S>, u32x4<S>) = (c.bitcast(), d.bitcast());
    let ((a, b), (c, d)) = (a.interleave(c), b.interleave(d));
    let ((a, b), (c, d)) = (a.interleave(c), b.interleave(d));
    [a.bitcast(), b.bitcast(), c.bitcast(), d.bitcast()]
}

/// Converts to bytes, with negative values as zero: the first eight of both, and the last
/// eight of both.
#[inline(always)]
fn bytes<S: Simd>(simd: S, upper: i16x16<S>, lower: i16x16<S>) -> (u8x16<S>, u8x16<S>) {
    let none = i16x16::splat(simd, 0);
    let (upper, lower): (u16x16<S>, u16x16<S>) =
        (upper.max(none).bitcast(), lower.max(none).bitcast());
    let ((a, b), (c, d)) = (upper.split(), lower.split());
    (
        simd.saturating_narrow_u16x8(a, c),
        simd.saturating_narrow_u16x8(b, d),
    )
}

/// The residues of the blocks at these positions.
#[inline(always)]
pub(super) fn residues<S: Simd>(
    simd: S,
    coefficients: &Coefficients,
    places: [usize; 4],
) -> [Residue<S>; 4] {
    let (blocks, counts) = (&coefficients.blocks, &coefficients.counts);
    let [a, b, c, d] = places;
    let factors = coefficients.dequant[usize::from(a >= 16)];
    let counts = counts[a] | counts[b] | counts[c] | counts[d];
    let blocks = [&blocks[a], &blocks[b], &blocks[c], &blocks[d]];
    if counts <= 1 {
        return dc_only(simd, blocks, factors[0]);
    }
    let lines = inverse_dct(simd, blocks, factors);
    let [a, c] = Residue::two(simd, lines[0], lines[1]);
    let [b, d] = Residue::two(simd, lines[2], lines[3]);
    [a, b, c, d]
}

/// The residues of blocks with only a DC coefficient: constant within each block.
#[inline(always)]
fn dc_only<S: Simd>(simd: S, blocks: [&[i16; 16]; 4], factor: i16) -> [Residue<S>; 4] {
    let [a, b, c, d] = blocks;
    let firsts = i16x8::load_array(simd, [a[0], b[0], c[0], d[0], 0, 0, 0, 0]);
    let values = firsts.combine(firsts) * i16x16::splat(simd, factor);
    let values = values.saturating_add(i16x16::splat(simd, 4)) >> 3;
    let [all, _] = Residue::two(simd, values, values);
    let mut out = [all; 4];
    for (at, one) in out.iter_mut().enumerate() {
        one.positive = all.positive.swizzle_dyn_within_blocks([at as u8; 16]);
        one.negative = all.negative.swizzle_dyn_within_blocks([at as u8; 16]);
    }
    out
}
