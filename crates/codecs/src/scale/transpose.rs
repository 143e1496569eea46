//! Transposition, so that columns are resampled like rows.

use fearless_simd::{Simd, SimdBase, u8x16};

/// Rows transposed together.
pub(crate) const COLUMNS: usize = 64;
/// Side of a tile.
const SIDE: usize = 16;

pub(crate) type Tile = [[u8; SIDE]; SIDE];

/// Transposes up to [`COLUMNS`] rows of `length` bytes from byte `start` on, as many bytes
/// as `out` has room for.
#[inline(always)]
pub(crate) fn to_columns<S: Simd>(
    simd: S,
    rows: &[u8],
    length: usize,
    start: usize,
    out: &mut [u8],
) {
    let end = start + out.len() / COLUMNS;
    for (first, rows) in rows.chunks(length * SIDE).enumerate() {
        for (at, out) in out.chunks_mut(COLUMNS * SIDE).enumerate() {
            let left = start + at * SIDE;
            let mut tile = [[0; SIDE]; SIDE];
            for (line, row) in tile.iter_mut().zip(rows.chunks_exact(length)) {
                copy(line, &row[left..end]);
            }
            let lines = transpose_tile(simd, &tile);
            for (line, out) in lines.iter().zip(out.chunks_exact_mut(COLUMNS)) {
                copy(&mut out[first * SIDE..], line);
            }
        }
    }
}

/// Transposes columns back into rows of `length` bytes, from byte `start` on.
#[inline(always)]
pub(crate) fn to_rows<S: Simd>(
    simd: S,
    columns: &[u8],
    out: &mut [u8],
    length: usize,
    start: usize,
) {
    let end = start + columns.len() / COLUMNS;
    for (first, rows) in out.chunks_mut(length * SIDE).enumerate() {
        for (at, columns) in columns.chunks(COLUMNS * SIDE).enumerate() {
            let left = start + at * SIDE;
            let mut tile = [[0; SIDE]; SIDE];
            for (line, column) in tile.iter_mut().zip(columns.chunks_exact(COLUMNS)) {
                copy(line, &column[first * SIDE..]);
            }
            let lines = transpose_tile(simd, &tile);
            for (line, row) in lines.iter().zip(rows.chunks_exact_mut(length)) {
                copy(&mut row[left..end], line);
            }
        }
    }
}

/// Copies a line, or as much as both sides hold.
#[inline(always)]
fn copy(to: &mut [u8], from: &[u8]) {
    match (to.first_chunk_mut::<SIDE>(), from.first_chunk::<SIDE>()) {
        (Some(to), Some(from)) => *to = *from,
        _ => {
            let count = to.len().min(from.len());
            to[..count].copy_from_slice(&from[..count]);
        }
    }
}

/// Transposes a tile: interleaves both halves of the lines; after four steps, rows and columns have changed
/// places.
#[inline(always)]
pub(crate) fn transpose_tile<S: Simd>(simd: S, tile: &Tile) -> Tile {
    let mut lines = tile.map(|line| u8x16::from_slice(simd, &line));
    for _ in 0..SIDE.ilog2() {
        let mut next = lines;
        for at in 0..SIDE / 2 {
            (next[2 * at], next[2 * at + 1]) =
                simd.interleave_u8x16(lines[at], lines[at + SIDE / 2]);
        }
        lines = next;
    }
    lines.map(|line| {
        let mut out = [0; SIDE];
        line.store_slice(&mut out);
        out
    })
}
