//! The inverse DCT (ITU T.81, A.3.3), to 8×8 samples or fewer.
//!
//! A reduced block is the inverse DCT of only its lowest frequencies, like the result of an
//! ideal low-pass filter.

use std::f32::consts::PI;

use fearless_simd::{Simd, SimdBase, f32x8};

use crate::jpeg::transpose::{Rows, transpose};
use crate::jpeg::zigzag::ZIGZAG;

/// The scale of a decoded component, in eighths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DctScale {
    Whole,
    Half,
    Quarter,
    Eighth,
}

impl DctScale {
    /// The smallest scale at which no side is shorter than wanted.
    pub(super) fn for_size(size: (u32, u32), wanted: (u32, u32)) -> Self {
        [Self::Eighth, Self::Quarter, Self::Half]
            .into_iter()
            .find(|scale| scale.of(size.0) >= wanted.0 && scale.of(size.1) >= wanted.1)
            .unwrap_or(Self::Whole)
    }

    /// The next larger scale.
    pub(super) fn finer(self) -> Self {
        match self {
            Self::Whole | Self::Half => Self::Whole,
            Self::Quarter => Self::Half,
            Self::Eighth => Self::Quarter,
        }
    }

    /// Samples per side of a block.
    pub(super) fn side(self) -> usize {
        match self {
            Self::Whole => 8,
            Self::Half => 4,
            Self::Quarter => 2,
            Self::Eighth => 1,
        }
    }

    /// A length at this scale, rounded up.
    pub(super) fn of(self, length: u32) -> u32 {
        (length * self.side() as u32).div_ceil(8)
    }

    /// Factors that dequantize and prescale the coefficients, in zigzag order.
    pub(super) fn factors(self, quantization: &[u16; 64]) -> [f32; 64] {
        let mut factors = [0.0; 64];
        for ((factor, step), place) in factors.iter_mut().zip(quantization).zip(ZIGZAG) {
            let (row, column) = (place / 8, place % 8);
            let scale = match self {
                Self::Whole => aan_scale(row) * aan_scale(column) / 8.0,
                // At any size, the mean of a block is an eighth of its DC coefficient.
                _ => basis_scale(row) * basis_scale(column) / 8.0,
            };
            *factor = f32::from(*step) * scale;
        }
        factors
    }
}

/// The prescale of the AAN transform.
fn aan_scale(frequency: u8) -> f32 {
    match frequency {
        0 => 1.0,
        k => (f32::from(k) * PI / 16.0).cos() * std::f32::consts::SQRT_2,
    }
}

fn basis_scale(frequency: u8) -> f32 {
    if frequency == 0 {
        1.0
    } else {
        std::f32::consts::SQRT_2
    }
}

/// Transforms one block into the rows of `out`.
#[inline(always)]
pub(super) fn idct<S: Simd>(
    simd: S,
    scale: DctScale,
    block: &[f32; 64],
    last: usize,
    (out, stride): (&mut [u8], usize),
) {
    let side = scale.side();
    if last == 0 || side == 1 {
        let value = to_sample(block[0]);
        for row in out.chunks_mut(stride).take(side) {
            row[..side].fill(value);
        }
        return;
    }
    match scale {
        DctScale::Whole => idct8(simd, block, out, stride),
        DctScale::Half => idct4(block, out, stride),
        DctScale::Quarter | DctScale::Eighth => idct2(block, out, stride),
    }
}

/// At 2²³ a float has no fraction bits: a sum with it is rounded to an integer in the low bits,
/// without the branches of a conversion.
const WHOLE: f32 = 8_388_608.0;

#[inline(always)]
fn to_sample(value: f32) -> u8 {
    ((value + 128.0).clamp(0.0, 255.0) + WHOLE).to_bits() as u8
}

#[inline(always)]
fn to_samples<S: Simd>(simd: S, values: f32x8<S>) -> [u8; 8] {
    let (lowest, highest) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 255.0));
    let samples = simd.min_f32x8(simd.max_f32x8(values + 128.0, lowest), highest);
    <[f32; 8]>::from(samples + WHOLE).map(|sample| sample.to_bits() as u8)
}

/// One dimension of all eight columns: Arai, Agui and Nakajima's transform with five
/// multiplications.
#[inline(always)]
fn aan_1d<S: Simd>(v: Rows<S>) -> Rows<S> {
    const SQRT2: f32 = std::f32::consts::SQRT_2;
    let (even0, even1) = (v[0] + v[4], v[0] - v[4]);
    let even3 = v[2] + v[6];
    let even2 = (v[2] - v[6]) * SQRT2 - even3;
    let (t0, t3) = (even0 + even3, even0 - even3);
    let (t1, t2) = (even1 + even2, even1 - even2);

    let (z13, z10) = (v[5] + v[3], v[5] - v[3]);
    let (z11, z12) = (v[1] + v[7], v[1] - v[7]);
    let t7 = z11 + z13;
    let z5 = (z10 + z12) * 1.847_759_1;
    let t6 = z5 - z10 * 2.613_126 - t7;
    let t5 = (z11 - z13) * SQRT2 - t6;
    let t4 = z5 - z12 * 1.082_392_2 - t5;

    [
        t0 + t7,
        t1 + t6,
        t2 + t5,
        t3 + t4,
        t3 - t4,
        t2 - t5,
        t1 - t6,
        t0 - t7,
    ]
}

#[inline(always)]
fn idct8<S: Simd>(simd: S, block: &[f32; 64], out: &mut [u8], stride: usize) {
    let blocks = block.as_chunks::<8>().0;
    let rows = std::array::from_fn(|row| f32x8::from_slice(simd, &blocks[row]));
    let columns = transpose(simd, aan_1d(rows));
    let rows = transpose(simd, aan_1d(columns));
    for (out, row) in out.chunks_mut(stride).zip(&rows) {
        out[..8].copy_from_slice(&to_samples(simd, *row));
    }
}

/// Cosines of the four-point transform, by frequency and position.
const C4: [[f32; 4]; 4] = [
    [1.0, 1.0, 1.0, 1.0],
    [0.923_879_5, 0.382_683_4, -0.382_683_4, -0.923_879_5],
    [0.707_106_77, -0.707_106_77, -0.707_106_77, 0.707_106_77],
    [0.382_683_4, -0.923_879_5, 0.923_879_5, -0.382_683_4],
];

#[inline(always)]
fn idct4(block: &[f32; 64], out: &mut [u8], stride: usize) {
    // Columns first.
    let mut half = [[0.0_f32; 4]; 4];
    for (y, half) in half.iter_mut().enumerate() {
        for (frequency, cosines) in C4.iter().enumerate() {
            let row = &block[frequency * 8..frequency * 8 + 4];
            for (sum, value) in half.iter_mut().zip(row) {
                *sum += value * cosines[y];
            }
        }
    }
    for (row, half) in out.chunks_mut(stride).zip(half) {
        let mut sums = [0.0_f32; 4];
        for (cosines, value) in C4.iter().zip(half) {
            for (sum, cosine) in sums.iter_mut().zip(cosines) {
                *sum += value * cosine;
            }
        }
        for (out, sum) in row[..4].iter_mut().zip(sums) {
            *out = to_sample(sum);
        }
    }
}

#[inline(always)]
fn idct2(block: &[f32; 64], out: &mut [u8], stride: usize) {
    const C: f32 = std::f32::consts::FRAC_1_SQRT_2;
    let (a, b, c, d) = (block[0], block[1] * C, block[8] * C, block[9] * C * C);
    let rows = [
        [a + b + c + d, a - b + c - d],
        [a + b - c - d, a - b - c + d],
    ];
    for (row, values) in out.chunks_mut(stride).zip(rows) {
        row[0] = to_sample(values[0]);
        row[1] = to_sample(values[1]);
    }
}
