//! Lanczos resampling of rows.
//!
//! Weights have 16 bits, which processors multiply fastest.

use std::f64::consts::PI;

use super::LOBES;

/// Values summed together.
const LANES: usize = 64;
/// Bytes of a row processed together, so that all contributing rows stay in the L1 cache.
const SPAN: usize = 1024;
/// Fraction bits of a weight, such that a weighted sum of bytes fits 32 bits with headroom
/// for negative weights.
const MAX_BITS: u32 = 22;

/// The weights of each target row.
pub(crate) struct LanczosKernel {
    /// Fraction bits of a weight.
    bits: u32,
    weights: Vec<i16>,
    /// By target row: the first source row, and the index of the first weight.
    rows: Vec<(usize, usize)>,
}

impl LanczosKernel {
    pub(crate) fn new(from: u32, to: u32) -> Self {
        let step = f64::from(from) / f64::from(to);
        let reach = step * LOBES;
        let mut kernel = Self {
            // More rows mean smaller weights.
            bits: (14 + (from / to).max(1).ilog2()).min(MAX_BITS),
            weights: Vec::new(),
            rows: Vec::new(),
        };
        let mut exact = Vec::new();
        for row in 0..to {
            let middle = (f64::from(row) + 0.5) * step;
            let first = (middle - reach).floor().max(0.0) as u32;
            let end = ((middle + reach).ceil() as u32).min(from);
            exact.clear();
            exact.extend((first..end).map(|row| lanczos((f64::from(row) + 0.5 - middle) / step)));
            kernel.rows.push((first as usize, kernel.weights.len()));
            kernel.push(&exact);
        }
        kernel.rows.push((from as usize, kernel.weights.len()));
        kernel
    }

    /// Rounds weights so that they sum to one; the largest absorbs the error.
    fn push(&mut self, exact: &[f64]) {
        let sum: f64 = exact.iter().sum();
        let start = self.weights.len();
        let one = f64::from(1 << self.bits);
        let parts = exact.iter().map(|weight| weight / sum * one);
        self.weights.extend(parts.map(|part| part.round() as i16));
        let rounded = &mut self.weights[start..];
        let together: i32 = rounded.iter().map(|weight| i32::from(*weight)).sum();
        if let Some(largest) = rounded.iter_mut().max() {
            *largest += ((1 << self.bits) - together) as i16;
        }
    }

    /// The first source row of a target row, and the weights from there on.
    pub(crate) fn taps(&self, row: usize) -> (usize, &[i16]) {
        let ((first, start), (_, end)) = (self.rows[row], self.rows[row + 1]);
        (first, &self.weights[start..end])
    }

    /// The largest number of weights of any row.
    pub(crate) fn max_taps(&self) -> usize {
        let pairs = self.rows.iter().zip(self.rows.iter().skip(1));
        let longest = pairs.map(|((_, start), (_, end))| end - start).max();
        longest.unwrap_or(0)
    }

    /// Computes the rows from `top` on, each of `length` bytes, until `out` is full.
    /// `source` starts with row `base`.
    #[inline(always)]
    pub(crate) fn apply(
        &self,
        source: &[u8],
        base: usize,
        length: usize,
        top: usize,
        out: &mut [u8],
    ) {
        for left in (0..length).step_by(SPAN) {
            let right = (left + SPAN).min(length);
            for (row, out) in out.chunks_exact_mut(length).enumerate() {
                let (first, weights) = self.taps(top + row);
                let rows = source[(first - base) * length..].chunks_exact(length);
                let rows = rows.map(|row| &row[left..right]);
                weighted_row(
                    rows.zip(weights.iter().copied()),
                    &mut out[left..right],
                    self.bits,
                );
            }
        }
    }
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
