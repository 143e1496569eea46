//! The loop filter (RFC 6386, section 15).
//!
//! 16 pixels along an edge are filtered together, in up to four lines on each side of it.
//! For vertical edges, columns are transposed into lines first.
//!
//! Code on lines avoids closures and `map`: code that is not inlined is not compiled for the
//! selected SIMD level, and is ten times slower.

mod edge;
mod transpose;

use std::array::from_fn;

use fearless_simd::{Simd, SimdBase, u8x16};

use super::frame_header::LoopFilterParams;
use edge::EdgeLimits;
use transpose::{transpose, transpose_back};

/// Pixels along an edge.
const ALONG: usize = 16;
/// Lines on each side of an edge that are read, and the distance between edges.
const REACH: usize = 4;

/// The lines on one side of an edge.
type EdgeLines<S> = [u8x16<S>; REACH];
/// A row of pixels, by macroblock.
type PlaneRow<'a, const SIDE: usize> = &'a mut [[u8; SIDE]];

/// A row of macroblocks in the planes that are filtered together: Y with 16×16 blocks, or U
/// and V with 8×8 blocks.
pub(super) struct MacroblockRow<'a, const PLANES: usize, const SIDE: usize> {
    /// By row and plane; one line holds a row of all planes.
    rows: [[PlaneRow<'a, SIDE>; PLANES]; SIDE],
    /// The bottom rows of the macroblocks above, if any.
    above: [[PlaneRow<'a, SIDE>; PLANES]; REACH],
    has_above: bool,
}

impl<'a, const PLANES: usize, const SIDE: usize> MacroblockRow<'a, PLANES, SIDE> {
    /// Row `row` of macroblocks, `across` macroblocks wide.
    #[inline(always)]
    pub(super) fn new(planes: [&'a mut [u8]; PLANES], across: usize, row: usize) -> Self {
        let mut rows = from_fn(|_| from_fn(|_| PlaneRow::default()));
        let mut above = from_fn(|_| from_fn(|_| PlaneRow::default()));
        for (at, plane) in planes.into_iter().enumerate() {
            let (before, mut rest) = plane.as_chunks_mut().0.split_at_mut(row * SIDE * across);
            for to in &mut rows {
                (to[at], rest) = rest.split_at_mut(across);
            }
            let last = before.rchunks_exact_mut(across);
            for (to, from) in above.iter_mut().rev().zip(last) {
                to[at] = from;
            }
        }
        Self {
            rows,
            above,
            has_above: row > 0,
        }
    }

    /// Filters the edges of a macroblock, and the subblock edges inside it if
    /// `filter_inside`.
    #[inline(always)]
    pub(super) fn filter<S: Simd>(
        &mut self,
        simd: S,
        column: usize,
        params: LoopFilterParams,
        simple: bool,
        filter_inside: bool,
    ) {
        let edges = BlockEdges {
            limits: EdgeLimits::new(simd, params),
            simple,
            filter_inside,
        };
        let mut before = [u8x16::splat(simd, 0); REACH];
        let mut block = [u8x16::splat(simd, 0); SIDE];
        for (line, rows) in block.iter_mut().zip(&self.rows) {
            *line = read(simd, rows, column);
        }
        let has_left = column > 0;
        if has_left {
            self.read_left(simd, &mut before, column - 1);
            transpose(simd, &mut before);
        }
        transpose(simd, &mut block);
        edges.filter(simd, &mut before, &mut block, has_left);
        transpose_back(simd, &mut block);
        if has_left {
            transpose_back(simd, &mut before);
            self.write_left(&before, column - 1);
        }
        if self.has_above {
            for (line, rows) in before.iter_mut().zip(&self.above) {
                *line = read(simd, rows, column);
            }
        }
        edges.filter(simd, &mut before, &mut block, self.has_above);
        if self.has_above {
            // The farthest line never changes.
            for (line, rows) in before.iter().zip(&mut self.above).skip(1) {
                write(*line, rows, column);
            }
        }
        for (line, rows) in block.iter().zip(&mut self.rows) {
            write(*line, rows, column);
        }
    }

    /// Gathers the right end of each row of a macroblock.
    #[inline(always)]
    fn read_left<S: Simd>(&self, simd: S, lines: &mut EdgeLines<S>, column: usize) {
        let rows = self.rows.as_flattened().chunks_exact(ALONG / REACH);
        for (line, rows) in lines.iter_mut().zip(rows) {
            let mut bytes = [0; ALONG];
            for (to, row) in bytes.chunks_exact_mut(REACH).zip(rows) {
                to.copy_from_slice(&row[column][SIDE - REACH..]);
            }
            *line = u8x16::load_array(simd, bytes);
        }
    }

    /// Scatters the right end of each row of a macroblock.
    #[inline(always)]
    fn write_left<S: Simd>(&mut self, lines: &EdgeLines<S>, column: usize) {
        let rows = self.rows.as_flattened_mut().chunks_exact_mut(ALONG / REACH);
        for (line, rows) in lines.iter().zip(rows) {
            let bytes = line.to_array();
            for (from, row) in bytes.chunks_exact(REACH).zip(rows) {
                row[column][SIDE - REACH..].copy_from_slice(from);
            }
        }
    }
}

/// The filter of a macroblock's edges.
struct BlockEdges<S: Simd> {
    limits: EdgeLimits<S>,
    simple: bool,
    filter_inside: bool,
}

impl<S: Simd> BlockEdges<S> {
    /// Filters the edges between the lines of a macroblock and, if `has_before`, the edge
    /// before it.
    #[inline(always)]
    fn filter(&self, simd: S, before: &mut EdgeLines<S>, block: &mut [u8x16<S>], has_before: bool) {
        let (limits, simple) = (&self.limits, self.simple);
        let Some((first, others)) = block.as_chunks_mut().0.split_first_mut() else {
            return;
        };
        if has_before {
            limits.filter_macroblock_edge(simd, before, first, simple);
        }
        if self.filter_inside {
            let mut before = first;
            for behind in others {
                limits.filter_subblock_edge(simd, before, behind, simple);
                before = behind;
            }
        }
    }
}

/// A row of a macroblock in all planes.
#[inline(always)]
fn read<S: Simd, const PLANES: usize, const SIDE: usize>(
    simd: S,
    rows: &[PlaneRow<SIDE>; PLANES],
    column: usize,
) -> u8x16<S> {
    let mut bytes = [0; ALONG];
    for (to, row) in bytes.chunks_exact_mut(SIDE).zip(rows) {
        to.copy_from_slice(&row[column]);
    }
    u8x16::load_array(simd, bytes)
}

/// Stores a row of a macroblock in all planes.
#[inline(always)]
fn write<S: Simd, const PLANES: usize, const SIDE: usize>(
    line: u8x16<S>,
    rows: &mut [PlaneRow<SIDE>; PLANES],
    column: usize,
) {
    let bytes = line.to_array();
    for (from, row) in bytes.chunks_exact(SIDE).zip(rows) {
        row[column].copy_from_slice(from);
    }
}
