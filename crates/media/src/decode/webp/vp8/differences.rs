//! What is added to predicted pixels, and taken from them.

use fearless_simd::{Simd, i16x8, i16x16, prelude::*, u8x16, u16x16, u32x4};

use super::residuals::Residuals;
use super::transform::inverse;

/// How much lighter and how much darker sixteen pixels are than predicted; one
/// of both is zero, so that bytes are enough.
#[derive(Clone, Copy)]
pub(super) struct Differences<S: Simd> {
    lighter: u8x16<S>,
    darker: u8x16<S>,
}

impl<S: Simd> Differences<S> {
    #[inline(always)]
    pub(super) fn none(simd: S) -> Self {
        Self {
            lighter: u8x16::splat(simd, 0),
            darker: u8x16::splat(simd, 0),
        }
    }

    /// Those of two blocks, of the upper and the lower half of both.
    #[inline(always)]
    fn two(simd: S, upper: i16x16<S>, lower: i16x16<S>) -> [Self; 2] {
        let none = i16x16::splat(simd, 0);
        let lighter = bytes(simd, upper, lower);
        let darker = bytes(simd, none - upper, none - lower);
        [
            Self {
                lighter: lighter.0,
                darker: darker.0,
            },
            Self {
                lighter: lighter.1,
                darker: darker.1,
            },
        ]
    }

    /// The pixels as they are meant to be.
    #[inline(always)]
    pub(super) fn add_to(self, pixels: u8x16<S>) -> u8x16<S> {
        pixels
            .saturating_add(self.lighter)
            .saturating_sub(self.darker)
    }
}

/// Adds differences of four blocks to the rows that these have side by side.
#[inline(always)]
pub(super) fn add_to_rows<S: Simd>([a, b, c, d]: [Differences<S>; 4], rows: &mut [u8x16<S>; 4]) {
    let lighter = side_by_side([a.lighter, b.lighter, c.lighter, d.lighter]);
    let darker = side_by_side([a.darker, b.darker, c.darker, d.darker]);
    for (row, (lighter, darker)) in rows.iter_mut().zip(lighter.into_iter().zip(darker)) {
        *row = Differences { lighter, darker }.add_to(*row);
    }
}

/// The rows that four blocks have side by side, of blocks that are row after row.
#[inline(always)]
pub(super) fn side_by_side<S: Simd>([a, b, c, d]: [u8x16<S>; 4]) -> [u8x16<S>; 4] {
    let (a, b): (u32x4<S>, u32x4<S>) = (a.bitcast(), b.bitcast());
    let (c, d): (u32x4<S>, u32x4<S>) = (c.bitcast(), d.bitcast());
    let ((a, b), (c, d)) = (a.interleave(c), b.interleave(d));
    let ((a, b), (c, d)) = (a.interleave(c), b.interleave(d));
    [a.bitcast(), b.bitcast(), c.bitcast(), d.bitcast()]
}

/// Values as bytes, those below zero as zero: the first eight of both, and the
/// other eight of both.
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

/// The differences of the four blocks at these places, each row after row.
#[inline(always)]
pub(super) fn differences<S: Simd>(
    simd: S,
    residuals: &Residuals,
    places: [usize; 4],
) -> [Differences<S>; 4] {
    let (blocks, counts) = (&residuals.blocks, &residuals.counts);
    let [a, b, c, d] = places;
    let steps = residuals.steps[usize::from(a >= 16)];
    let counts = counts[a] | counts[b] | counts[c] | counts[d];
    let blocks = [&blocks[a], &blocks[b], &blocks[c], &blocks[d]];
    if counts <= 1 {
        return flat(simd, blocks, steps[0]);
    }
    let lines = inverse(simd, blocks, steps);
    let [a, c] = Differences::two(simd, lines[0], lines[1]);
    let [b, d] = Differences::two(simd, lines[2], lines[3]);
    [a, b, c, d]
}

/// Those of blocks that have but their first coefficients, the same everywhere.
#[inline(always)]
fn flat<S: Simd>(simd: S, blocks: [&[i16; 16]; 4], step: i16) -> [Differences<S>; 4] {
    let [a, b, c, d] = blocks;
    let firsts = i16x8::load_array(simd, [a[0], b[0], c[0], d[0], 0, 0, 0, 0]);
    let values = firsts.combine(firsts) * i16x16::splat(simd, step);
    let values = values.saturating_add(i16x16::splat(simd, 4)) >> 3;
    let [all, _] = Differences::two(simd, values, values);
    let mut out = [all; 4];
    for (at, one) in out.iter_mut().enumerate() {
        one.lighter = all.lighter.swizzle_dyn_within_blocks([at as u8; 16]);
        one.darker = all.darker.swizzle_dyn_within_blocks([at as u8; 16]);
    }
    out
}
