//! Lanczos resampling of rows.
//!
//! Weights have 16 bits, which processors multiply fastest.

use std::f64::consts::PI;
use std::ops::Range;

use super::LOBES;
use crate::memory::Buffer;
use crate::{CodecError, Job};

/// Values summed together.
const LANES: usize = 64;
/// Bytes of a row processed together, so that all contributing rows stay in the L1 cache.
const SPAN: usize = 1024;
/// Fraction bits of a weight, such that a weighted sum of bytes fits 32 bits with headroom
/// for negative weights.
const MAX_BITS: u32 = 22;

/// One dimension of a reduction.
#[derive(Clone, Copy)]
pub(crate) struct Axis {
    /// Source rows.
    pub(crate) from: u32,
    /// The length of the source in its rows, of which the last may be partial.
    pub(crate) length: f64,
    /// Target rows.
    pub(crate) to: u32,
}

impl Axis {
    /// Source rows per target row.
    pub(crate) fn ratio(self) -> f64 {
        self.length / f64::from(self.to)
    }

    /// More weights than any target row has.
    pub(crate) fn max_taps(self) -> usize {
        (self.ratio() * LOBES * 2.0).ceil() as usize + 2
    }

    /// The source rows of a target row: the first, and one past the last.
    pub(crate) fn source(self, row: usize) -> (usize, usize) {
        if self.from == self.to {
            return (row, row + 1);
        }
        let middle = self.middle(row);
        let reach = self.ratio() * LOBES;
        let first = (middle - reach).floor().max(0.0) as usize;
        let end = ((middle + reach).ceil() as usize).min(self.from as usize);
        (first, end)
    }

    fn middle(self, row: usize) -> f64 {
        let middle = (row as f64 + 0.5) * self.ratio();
        // The last target row may reach beyond the source, but not from there.
        middle.min(f64::from(self.from))
    }

    /// Whether the last target row reaches so far beyond the source that half of its weights
    /// are missing.
    fn is_cut(self) -> bool {
        self.length > f64::from(self.from)
    }
}

/// The weights of a range of target rows.
pub(crate) struct LanczosKernel {
    axis: Axis,
    /// Fraction bits of a weight.
    bits: u32,
    weights: Buffer<i16>,
    /// The first target row.
    start: usize,
    /// By target row: the index of its first weight; and the end.
    offsets: Buffer<u32>,
}

impl LanczosKernel {
    pub(crate) fn new(axis: Axis, rows: Range<usize>, job: &Job) -> Result<Self, CodecError> {
        // More rows mean smaller weights; those of a cut window are twice as large.
        let bits = (14 + (axis.ratio() as u32).max(1).ilog2()).min(MAX_BITS);
        let mut kernel = Self {
            axis,
            bits: bits - u32::from(axis.is_cut()),
            weights: job.memory.with_room(rows.len() * axis.max_taps())?,
            start: rows.start,
            offsets: job.memory.with_room(rows.len() + 1)?,
        };
        let mut exact = Vec::with_capacity(axis.max_taps());
        kernel.offsets.append(&[0])?;
        for row in rows {
            if row.is_multiple_of(1024) {
                job.check()?;
            }
            let (first, end) = axis.source(row);
            let middle = axis.middle(row);
            exact.clear();
            let from_middle = |at: usize| (at as f64 + 0.5 - middle) / axis.ratio();
            exact.extend((first..end).map(|at| lanczos(from_middle(at))));
            kernel.push(&exact)?;
        }
        Ok(kernel)
    }

    /// Rounds weights so that they sum to one; the largest absorbs the error.
    fn push(&mut self, exact: &[f64]) -> Result<(), CodecError> {
        let sum: f64 = exact.iter().sum();
        let start = self.weights.len();
        let one = f64::from(1 << self.bits);
        for weight in exact {
            self.weights
                .append(&[(weight / sum * one).round() as i16])?;
        }
        let rounded = &mut self.weights[start..];
        let together: i32 = rounded.iter().map(|weight| i32::from(*weight)).sum();
        if let Some(largest) = rounded.iter_mut().max() {
            *largest = largest.saturating_add(((1 << self.bits) - together) as i16);
        }
        self.offsets.append(&[self.weights.len() as u32])
    }

    /// The first source row of a target row, and the weights from there on.
    pub(crate) fn taps(&self, row: usize) -> (usize, &[i16]) {
        let at = row - self.start;
        let (start, end) = (self.offsets[at] as usize, self.offsets[at + 1] as usize);
        (self.axis.source(row).0, &self.weights[start..end])
    }

    /// Whether the weights of a target row are here.
    pub(crate) fn has(&self, row: usize) -> bool {
        (self.start..self.start + self.offsets.len() - 1).contains(&row)
    }

    /// Computes the rows from `top` on, until `out` is full. `source` starts with row
    /// `base`.
    #[inline(always)]
    pub(crate) fn apply(&self, source: Rows<&[u8]>, base: usize, top: usize, out: Rows<&mut [u8]>) {
        let length = source.columns.len();
        // A span of all rows before the next, so that contributing rows stay in the cache.
        for left in (0..length).step_by(SPAN) {
            let span = left..(left + SPAN).min(length);
            for (row, out_row) in out.data.chunks_exact_mut(out.stride).enumerate() {
                let (first, weights) = self.taps(top + row);
                let rows = &source.data[(first - base) * source.stride..];
                let rows = rows.chunks_exact(source.stride);
                let rows = rows.map(|row| &row[source.columns.clone()][span.clone()]);
                weighted_row(
                    rows.zip(weights.iter().copied()),
                    &mut out_row[out.columns.clone()][span.clone()],
                    self.bits,
                );
            }
        }
    }
}

/// Some columns of rows.
#[derive(Clone)]
pub(crate) struct Rows<D> {
    pub(crate) data: D,
    /// Bytes per row.
    pub(crate) stride: usize,
    /// The selected bytes of each row.
    pub(crate) columns: Range<usize>,
}

/// The Lanczos window function.
fn lanczos(x: f64) -> f64 {
    let sinc = |x: f64| if x == 0.0 { 1.0 } else { x.sin() / x };
    if x.abs() < LOBES {
        sinc(x * PI) * sinc(x * PI / LOBES)
    } else {
        0.0
    }
}

/// One weighted sum of rows.
#[inline(always)]
fn weighted_row<'a>(
    rows: impl Iterator<Item = (&'a [u8], i16)> + Clone,
    out: &mut [u8],
    bits: u32,
) {
    let mut at = 0;
    while let Some(out) = out[at..].first_chunk_mut() {
        let values = rows.clone().filter_map(|(row, weight)| {
            let values: &[u8; LANES] = row[at..].first_chunk()?;
            Some((*values, weight))
        });
        *out = weighted_sum(values, bits);
        at += LANES;
    }
    let rest = &mut out[at..];
    if !rest.is_empty() {
        let values = rows.map(|(row, weight)| {
            let mut values = [0; LANES];
            values[..rest.len()].copy_from_slice(&row[at..]);
            (values, weight)
        });
        rest.copy_from_slice(&weighted_sum(values, bits)[..rest.len()]);
    }
}

#[inline(always)]
fn weighted_sum(weighted: impl Iterator<Item = ([u8; LANES], i16)>, bits: u32) -> [u8; LANES] {
    // One half, for rounding.
    let mut sums = [1_i32 << (bits - 1); LANES];
    for (values, weight) in weighted {
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum += i32::from(value) * i32::from(weight);
        }
    }
    sums.map(|sum| (sum >> bits).clamp(0, 255) as u8)
}
