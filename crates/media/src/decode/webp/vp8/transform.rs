//! From coefficients to differences between pixels and their prediction.

use super::residuals::multiply;

/// The first coefficients of sixteen blocks, out of a block of their own.
pub(super) fn means(block: &[i16; 16]) -> [i16; 16] {
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

/// Adds a block to four rows of four pixels. It is still to be multiplied with
/// the steps of its first and its other coefficients; `count` is the place behind its
/// last coefficient.
#[inline(always)]
pub(super) fn add(block: &[i16; 16], steps: [i16; 2], count: u8, out: &mut [u8], stride: usize) {
    let differences = if count > 1 {
        let mut block = *block;
        multiply(&mut block, steps);
        inverse(&block)
    } else {
        [(i32::from(block[0].wrapping_mul(steps[0])) + 4) >> 3; 16]
    };
    for (row, differences) in out.chunks_mut(stride).zip(differences.as_chunks::<4>().0) {
        for (pixel, difference) in row[..4].iter_mut().zip(differences) {
            *pixel = (i32::from(*pixel) + difference).clamp(0, 255) as u8;
        }
    }
}

#[inline(always)]
fn inverse(block: &[i16; 16]) -> [i32; 16] {
    let mut half = [[0; 4]; 4];
    for x in 0..4 {
        let column = [0, 4, 8, 12].map(|row| i32::from(block[row + x]));
        for (y, value) in turn(column).into_iter().enumerate() {
            half[y][x] = value;
        }
    }
    let mut columns = [[0; 4]; 4];
    for (y, row) in half.iter().enumerate() {
        for (x, value) in row.iter().enumerate() {
            columns[x][y] = *value;
        }
    }
    let mut out = [0; 16];
    for y in 0..4 {
        let row = turn([columns[0][y], columns[1][y], columns[2][y], columns[3][y]]);
        for (x, value) in row.into_iter().enumerate() {
            out[y * 4 + x] = (value + 4) >> 3;
        }
    }
    out
}

/// One dimension: √2 times the cosine and the sine of π/8, in 65536ths.
#[inline(always)]
fn turn([a, b, c, d]: [i32; 4]) -> [i32; 4] {
    let cosine = |value: i32| value + (value.wrapping_mul(20_091) >> 16);
    let sine = |value: i32| value.wrapping_mul(35_468) >> 16;
    let (sum, difference) = (a + c, a - c);
    let (inner, outer) = (sine(b) - cosine(d), cosine(b) + sine(d));
    [
        sum + outer,
        difference + inner,
        difference - inner,
        sum - outer,
    ]
}
