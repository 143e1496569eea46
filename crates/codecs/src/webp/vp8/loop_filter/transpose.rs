//! Transposition, so that vertical edges are filtered like horizontal ones.

use fearless_simd::{Simd, u8x16};

use super::ALONG;

/// Transposes 16 contiguous rows into one line per column.
#[inline(always)]
pub(super) fn transpose<S: Simd, const WIDTH: usize>(simd: S, lines: &mut [u8x16<S>; WIDTH]) {
    shuffle(simd, lines, ALONG.ilog2());
}

/// Transposes columns back into rows.
#[inline(always)]
pub(super) fn transpose_back<S: Simd, const WIDTH: usize>(simd: S, lines: &mut [u8x16<S>; WIDTH]) {
    shuffle(simd, lines, WIDTH.ilog2());
}

/// Interleaves both halves of the lines, which rotates the bits of each pixel's index by
/// one. After one step for each bit of the row number, row and column have changed places.
#[inline(always)]
fn shuffle<S: Simd, const COUNT: usize>(simd: S, lines: &mut [u8x16<S>; COUNT], times: u32) {
    for _ in 0..times {
        let before = *lines;
        for at in 0..COUNT / 2 {
            (lines[2 * at], lines[2 * at + 1]) =
                simd.interleave_u8x16(before[at], before[at + COUNT / 2]);
        }
    }
}
