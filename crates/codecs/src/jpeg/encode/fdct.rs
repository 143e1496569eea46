//! The forward DCT (ITU T.81, A.3.3) and quantization (A.3.4).

use std::f32::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

use fearless_simd::{Simd, SimdBase, f32x8};

use crate::jpeg::transpose::{Rows, transpose};
use crate::jpeg::zigzag::ZIGZAG;

/// Quantized coefficients of a block, in zigzag order.
pub(super) type DctBlock = [i16; 64];

/// Factors that quantize and undo the prescale of the transform, transposed.
#[derive(Clone)]
pub(super) struct Factors([[f32; 8]; 8]);

impl Factors {
    /// From a quantization table in zigzag order.
    pub(super) fn new(quantization: &[u8; 64]) -> Self {
        let mut factors = [[0.0; 8]; 8];
        for (step, place) in quantization.iter().zip(ZIGZAG) {
            let (row, column) = (usize::from(place / 8), usize::from(place % 8));
            factors[column][row] =
                1.0 / (f32::from(*step) * aan_scale(row) * aan_scale(column) * 8.0);
        }
        Self(factors)
    }
}

/// The scale that the AAN transform leaves in its output.
fn aan_scale(frequency: usize) -> f32 {
    match frequency {
        0 => 1.0,
        k => (k as f32 * PI / 16.0).cos() * SQRT_2,
    }
}

/// The positions of the zigzag order in transposed output.
const PLACES: [u8; 64] = {
    let mut places = [0; 64];
    let mut at = 0;
    while at < 64 {
        places[at] = ZIGZAG[at] % 8 * 8 + ZIGZAG[at] / 8;
        at += 1;
    }
    places
};

/// Transforms and quantizes a block. Returns false if all samples are equal, as in most
/// blocks of screenshots; only the DC coefficient is set then.
#[inline(always)]
pub(super) fn fdct<S: Simd>(
    simd: S,
    pixels: &[[u8; 8]; 8],
    factors: &Factors,
    block: &mut DctBlock,
) -> bool {
    let first = u64::from_ne_bytes(pixels[0]);
    let even = first == first.rotate_left(8);
    if even && pixels.iter().all(|row| u64::from_ne_bytes(*row) == first) {
        let mean = (f32::from(pixels[0][0]) - 128.0) * 64.0;
        block[0] = round(mean * factors.0[0][0]);
        return false;
    }
    let rows = pixels.map(|row| {
        let values = row.map(|pixel| f32::from(pixel) - 128.0);
        f32x8::from_slice(simd, &values)
    });
    let columns = aan_1d(transpose(simd, aan_1d(rows)));
    let mut quantized = [0_i16; 64];
    let all = quantized.as_chunks_mut::<8>().0.iter_mut();
    for ((quantized, values), factors) in all.zip(&columns).zip(&factors.0) {
        let values = *values * f32x8::from_slice(simd, factors);
        *quantized = <[f32; 8]>::from(values).map(round);
    }
    for (value, place) in block.iter_mut().zip(PLACES) {
        *value = quantized[usize::from(place)];
    }
    true
}

#[inline(always)]
fn round(value: f32) -> i16 {
    // At 3·2²² a float has no fraction bits: the sum rounds to an integer in the low bits,
    // without the branches of a conversion.
    const WHOLE: f32 = 12_582_912.0;
    (value + WHOLE).to_bits() as i16
}

/// One dimension of all eight columns: Arai, Agui and Nakajima's transform with five
/// multiplications.
#[inline(always)]
fn aan_1d<S: Simd>(v: Rows<S>) -> Rows<S> {
    let (s0, d0) = (v[0] + v[7], v[0] - v[7]);
    let (s1, d1) = (v[1] + v[6], v[1] - v[6]);
    let (s2, d2) = (v[2] + v[5], v[2] - v[5]);
    let (s3, d3) = (v[3] + v[4], v[3] - v[4]);

    let (outer, inner) = (s0 + s3, s1 + s2);
    let rest = s0 - s3;
    let turned = (s1 - s2 + rest) * FRAC_1_SQRT_2;

    let (low, middle, high) = (d3 + d2, (d2 + d1) * FRAC_1_SQRT_2, d1 + d0);
    let both = (low - high) * 0.382_683_43;
    let (low, high) = (low * 0.541_196_1 + both, high * 1.306_563 + both);
    let (sum, difference) = (d0 + middle, d0 - middle);
    [
        outer + inner,
        sum + high,
        rest + turned,
        difference - low,
        outer - inner,
        difference + low,
        rest - turned,
        sum - high,
    ]
}

#[cfg(test)]
mod tests {
    use fearless_simd::dispatch;

    use super::*;
    use crate::simd_level::level;

    /// The defining sum of the transform, in zigzag order.
    fn exact(pixels: &[[u8; 8]; 8], quantization: &[u8; 64]) -> [f64; 64] {
        let basis = |k: usize, n: usize| {
            let scale: f64 = if k == 0 { 0.5_f64.sqrt() } else { 1.0 };
            scale * ((2 * n + 1) as f64 * k as f64 * std::f64::consts::PI / 16.0).cos() / 2.0
        };
        std::array::from_fn(|at| {
            let (row, column) = (usize::from(ZIGZAG[at] / 8), usize::from(ZIGZAG[at] % 8));
            let mut sum = 0.0;
            for (y, line) in pixels.iter().enumerate() {
                for (x, pixel) in line.iter().enumerate() {
                    sum += (f64::from(*pixel) - 128.0) * basis(row, y) * basis(column, x);
                }
            }
            sum / f64::from(quantization[at])
        })
    }

    #[test]
    fn the_forward_dct_matches_its_definition() {
        let quantization: [u8; 64] = std::array::from_fn(|at| 1 + at as u8 / 3);
        let mut seed = 1_u32;
        for _ in 0..100 {
            let pixels = [[0; 8]; 8].map(|row: [u8; 8]| {
                row.map(|_| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (seed >> 24) as u8
                })
            });
            let mut block = [0; 64];
            let factors = Factors::new(&quantization);
            assert!(dispatch!(level(), simd => fdct(simd, &pixels, &factors, &mut block)));
            for (found, wanted) in block.iter().zip(exact(&pixels, &quantization)) {
                assert!((f64::from(*found) - wanted).abs() < 0.51, "{wanted}");
            }
        }
    }

    #[test]
    fn a_constant_block_has_a_dc_coefficient_only() {
        let quantization = [7; 64];
        for value in [0, 1, 127, 128, 200, 255] {
            let pixels = [[value; 8]; 8];
            let mut block = [0; 64];
            let factors = Factors::new(&quantization);
            assert!(!dispatch!(level(), simd => fdct(simd, &pixels, &factors, &mut block)));
            let wanted = exact(&pixels, &quantization)[0];
            assert!((f64::from(block[0]) - wanted).abs() < 0.51, "{value}");
        }
    }
}
