//! Transposition of 8×8 values, between the two dimensions of a DCT.

use fearless_simd::{Simd, f32x8};

/// A block of the DCT: eight rows.
pub(super) type Rows<S> = [f32x8<S>; 8];

/// Interleaves both halves of the rows; after three steps, rows and columns have changed places.
#[inline(always)]
pub(super) fn transpose<S: Simd>(simd: S, mut rows: Rows<S>) -> Rows<S> {
    for _ in 0..3 {
        let mut next = rows;
        for at in 0..4 {
            (next[2 * at], next[2 * at + 1]) = simd.interleave_f32x8(rows[at], rows[at + 4]);
        }
        rows = next;
    }
    rows
}
