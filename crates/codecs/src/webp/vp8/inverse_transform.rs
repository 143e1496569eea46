//! Inverse WHT and DCT (RFC 6386, sections 14.3 and 14.4).
//!
//! Four blocks are transformed together in four vectors of 16 lanes: the upper and lower
//! halves of the first and third block, then those of the second and fourth.

use fearless_simd::{Simd, i16x8, i16x16, prelude::*};

use super::coefficients::dequantize;

/// Coefficients below this magnitude are transformed in 16 bits without overflow: each
/// dimension grows them up to 3.85 times.
const LIMIT: i16 = 2048;
/// √2·cos(π/8) − 1 and √2·sin(π/8) − 1 in 65536ths.
const COSINE: i16 = 20_091;
const SINE: i16 = -30_068;

/// The inverse WHT: from the Y2 block to the DC coefficients of the 16 Y blocks.
pub(super) fn inverse_wht(block: &[i16; 16]) -> [i16; 16] {
    let mut half = [0_i32; 16];
    for x in 0..4 {
        let [a, b, c, d] = [0, 4, 8, 12].map(|row| i32::from(block[row + x]));
        let (outer, inner, rest, turned) = (a + d, b + c, a - d, b - c);
        half[x] = outer + inner;
        half[4 + x] = rest + turned;
        half[8 + x] = outer - inner;
        half[12 + x] = rest - turned;
    }
    let mut out = [0; 16];
    for (out, half) in out
        .as_chunks_mut::<4>()
        .0
        .iter_mut()
        .zip(half.as_chunks().0)
    {
        let [a, b, c, d]: [i32; 4] = *half;
        let (outer, inner, rest, turned) = (a + d, b + c, a - d, b - c);
        *out = [outer + inner, rest + turned, outer - inner, rest - turned]
            .map(|value| ((value + 3) >> 3) as i16);
    }
    out
}

/// Dequantizes and transforms four blocks; returns their residue.
#[inline(always)]
pub(super) fn inverse_dct<S: Simd>(
    simd: S,
    blocks: [&[i16; 16]; 4],
    factors: [i16; 2],
) -> [i16x16<S>; 4] {
    let [first, others] = [
        i16x16::splat(simd, factors[0]),
        i16x16::splat(simd, factors[1]),
    ];
    let is_first = i16x8::load_array(simd, [-1, 0, 0, 0, 0, 0, 0, 0]);
    let is_first = is_first.combine(is_first);
    let upper = (first & is_first) | (others & !is_first);
    let [a, b, c, d] = lines(simd, blocks);
    let coefficients = [a * upper, b * others, c * upper, d * others];
    if are_small(simd, &coefficients) {
        idct_16bit(simd, coefficients)
    } else {
        let [a, b, c, d] = idct_32bit(blocks, factors);
        lines(simd, [&a, &b, &c, &d])
    }
}

#[inline(always)]
fn lines<S: Simd>(simd: S, [a, b, c, d]: [&[i16; 16]; 4]) -> [i16x16<S>; 4] {
    [
        halves(simd, &a[..8], &c[..8]),
        halves(simd, &a[8..], &c[8..]),
        halves(simd, &b[..8], &d[..8]),
        halves(simd, &b[8..], &d[8..]),
    ]
}

#[inline(always)]
fn halves<S: Simd>(simd: S, a: &[i16], b: &[i16]) -> i16x16<S> {
    i16x8::from_slice(simd, a).combine(i16x8::from_slice(simd, b))
}

/// Whether all coefficients are small enough for [`idct_16bit`].
#[inline(always)]
fn are_small<S: Simd>(simd: S, [a, b, c, d]: &[i16x16<S>; 4]) -> bool {
    let limit = i16x16::splat(simd, LIMIT);
    let bits = (*a + limit) | (*b + limit) | (*c + limit) | (*d + limit);
    let large = bits & i16x16::splat(simd, !(2 * LIMIT - 1));
    large.simd_eq(i16x16::splat(simd, 0)).all_true()
}

/// Transforms blocks of small coefficients in 16 bits.
#[inline(always)]
fn idct_16bit<S: Simd>(simd: S, lines: [i16x16<S>; 4]) -> [i16x16<S>; 4] {
    // Transpose between both passes by interleaving.
    let [a, b, c, d] = rotate(rotate(idct_1d_lanes(simd, rotate(lines))));
    let rounded = a + i16x16::splat(simd, 4);
    let [a, b, c, d] = idct_1d_lanes(simd, [rounded, b, c, d]);
    rotate(rotate([a >> 3, b >> 3, c >> 3, d >> 3]))
}

/// Interleaves the two halves of the 32 values in each half of the lanes.
#[inline(always)]
fn rotate<S: Simd>([a, b, c, d]: [i16x16<S>; 4]) -> [i16x16<S>; 4] {
    let ((a, b), (c, d)) = (shuffle(a, c), shuffle(b, d));
    [a, b, c, d]
}

/// Interleaves the lanes of both, per half.
#[inline(always)]
fn shuffle<S: Simd>(a: i16x16<S>, b: i16x16<S>) -> (i16x16<S>, i16x16<S>) {
    let ((a, c), (b, d)) = (a.split(), b.split());
    let ((a, b), (c, d)) = (a.interleave(b), c.interleave(d));
    (a.combine(c), b.combine(d))
}

/// [`idct_1d`] for 16 rows or columns.
#[inline(always)]
fn idct_1d_lanes<S: Simd>(simd: S, [a, b, c, d]: [i16x16<S>; 4]) -> [i16x16<S>; 4] {
    let (sum, difference) = (a + c, a - c);
    let inner = scale_by(simd, b, SINE) - scale_by(simd, d, COSINE);
    let outer = scale_by(simd, b, COSINE) + scale_by(simd, d, SINE);
    [
        sum + outer,
        difference + inner,
        difference - inner,
        sum - outer,
    ]
}

/// `value + value * factor / 65536`.
#[inline(always)]
fn scale_by<S: Simd>(simd: S, values: i16x16<S>, factor: i16) -> i16x16<S> {
    let mut parts = [0; 16];
    for (part, value) in parts.iter_mut().zip(values.to_array()) {
        *part = ((i32::from(value) * i32::from(factor)) >> 16) as i16;
    }
    values + i16x16::load_array(simd, parts)
}

/// The same in 32 bits, for coefficients that hardly any picture has. The result is clamped to
/// the range of a pixel.
#[cold]
#[inline(never)]
fn idct_32bit(blocks: [&[i16; 16]; 4], factors: [i16; 2]) -> [[i16; 16]; 4] {
    blocks.map(|block| {
        let mut block = *block;
        dequantize(&mut block, factors);
        let mut half = [[0; 4]; 4];
        for x in 0..4 {
            let column = [0, 4, 8, 12].map(|row| i32::from(block[row + x]));
            for (y, value) in idct_1d(column).into_iter().enumerate() {
                half[y][x] = value;
            }
        }
        let mut out = [0; 16];
        for (out, row) in out.as_chunks_mut::<4>().0.iter_mut().zip(half) {
            *out = idct_1d(row).map(|value| ((value + 4) >> 3).clamp(-255, 255) as i16);
        }
        out
    })
}

/// One dimension of the inverse DCT.
fn idct_1d([a, b, c, d]: [i32; 4]) -> [i32; 4] {
    let scale_by = |value: i32, factor: i16| value + (value.wrapping_mul(factor.into()) >> 16);
    let (sum, difference) = (a + c, a - c);
    let inner = scale_by(b, SINE) - scale_by(d, COSINE);
    let outer = scale_by(b, COSINE) + scale_by(d, SINE);
    [
        sum + outer,
        difference + inner,
        difference - inner,
        sum - outer,
    ]
}

#[cfg(test)]
mod tests {
    use fearless_simd::dispatch;
    use proptest::prelude::*;

    use super::*;
    use crate::simd_level::level;

    /// The residue of four equal blocks, by the 16-bit and by the 32-bit transform.
    fn both(block: [i16; 16], factors: [i16; 2]) -> [[[i16; 16]; 4]; 2] {
        let blocks = [&block; 4];
        let [a, b, c, d] = idct_32bit(blocks, factors);
        let mut both = [[[0; 16]; 4]; 2];
        dispatch!(level(), simd => {
            let pairs = inverse_dct(simd, blocks, factors).into_iter();
            for (at, (seen, wanted)) in pairs.zip(lines(simd, [&a, &b, &c, &d])).enumerate() {
                both[0][at] = seen.to_array().map(|value| value.clamp(-255, 255));
                both[1][at] = wanted.to_array();
            }
        });
        both
    }

    /// Every combination of signs that maximizes some sum: signs of rows times signs of
    /// columns.
    #[test]
    fn the_largest_coefficients_of_the_16_bit_idct_do_not_overflow() {
        for signs in 0..256 {
            for (negative, positive, fits) in
                [(-LIMIT, LIMIT - 1, true), (-LIMIT - 1, LIMIT, false)]
            {
                let block = std::array::from_fn(|at| {
                    let minus = signs >> (at / 4) ^ signs >> (4 + at % 4);
                    if minus & 1 == 1 { negative } else { positive }
                });
                let small = dispatch!(level(), simd => {
                    are_small(simd, &lines(simd, [&block; 4]))
                });
                assert_eq!(small, fits, "{signs:b}");
                let [seen, wanted] = both(block, [1, 1]);
                assert_eq!(seen, wanted, "{signs:b}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_16_bit_idct_equals_the_32_bit_idct(
            block in proptest::array::uniform16(-12..=12_i16),
            factors in proptest::array::uniform2(1..=160_i16),
        ) {
            let [seen, wanted] = both(block, factors);
            prop_assert_eq!(seen, wanted);
        }
    }
}
