//! Columns turned into lines and back, so that edges from top to bottom are
//! smoothed like those from left to right.

use fearless_simd::{Simd, u8x16};

use super::ALONG;

/// Turns sixteen rows that follow each other without gaps into columns: there are
/// as many lines as a row has pixels.
#[inline(always)]
pub(super) fn transpose<S: Simd, const WIDTH: usize>(simd: S, lines: &mut [u8x16<S>; WIDTH]) {
    shuffle(simd, lines, ALONG.ilog2());
}

/// Turns columns back into rows.
#[inline(always)]
pub(super) fn transpose_back<S: Simd, const WIDTH: usize>(simd: S, lines: &mut [u8x16<S>; WIDTH]) {
    shuffle(simd, lines, WIDTH.ilog2());
}

/// Shuffles both halves of the lines into each other, which makes the first bit
/// of each pixel's place the last one. Once that is done with all bits that say
/// its row, the row has become its place in a line, and its place in the row the
/// line.
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
