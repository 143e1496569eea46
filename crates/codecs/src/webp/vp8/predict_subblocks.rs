//! Intra prediction of 4×4 subblocks (RFC 6386, section 12.3).
//!
//! Every predictor is computed for every subblock and the result selected by mask: a
//! mispredicted branch would cost more.

use fearless_simd::{Simd, prelude::*, u8x16, u16x8};

use super::coefficients::Coefficients;
use super::intra_modes::SubblockMode;
use super::predict_macroblock::tm_pred;
use super::residue::{Residue, residues, side_by_side};

/// The index of an average that is always zero.
const NONE: u8 = 15;
/// The average of the lowest left pixel with itself.
const LAST: u8 = 0;

/// The index of the average of edge pixels `at` and `at + 1`. The edge runs from the lowest
/// left pixel over the above-left pixel, which is 4, to the rightmost pixel above.
const fn avg2_at(at: u8) -> u8 {
    at + 1
}

/// The index of the weighted average around edge pixel `at`: (a + 2b + c) / 4.
const fn avg3_at(at: u8) -> u8 {
    at + 16
}

/// The average that each pixel of a subblock takes, by mode.
const MODES: [[[u8; 4]; 4]; 10] = [
    // B_DC_PRED and B_TM_PRED use no average.
    [[NONE; 4]; 4],
    [[NONE; 4]; 4],
    [[avg3_at(5), avg3_at(6), avg3_at(7), avg3_at(8)]; 4],
    [
        [avg3_at(3); 4],
        [avg3_at(2); 4],
        [avg3_at(1); 4],
        [avg3_at(0); 4],
    ],
    [
        [avg3_at(6), avg3_at(7), avg3_at(8), avg3_at(9)],
        [avg3_at(7), avg3_at(8), avg3_at(9), avg3_at(10)],
        [avg3_at(8), avg3_at(9), avg3_at(10), avg3_at(11)],
        [avg3_at(9), avg3_at(10), avg3_at(11), avg3_at(12)],
    ],
    [
        [avg3_at(4), avg3_at(5), avg3_at(6), avg3_at(7)],
        [avg3_at(3), avg3_at(4), avg3_at(5), avg3_at(6)],
        [avg3_at(2), avg3_at(3), avg3_at(4), avg3_at(5)],
        [avg3_at(1), avg3_at(2), avg3_at(3), avg3_at(4)],
    ],
    [
        [avg2_at(4), avg2_at(5), avg2_at(6), avg2_at(7)],
        [avg3_at(4), avg3_at(5), avg3_at(6), avg3_at(7)],
        [avg3_at(3), avg2_at(4), avg2_at(5), avg2_at(6)],
        [avg3_at(2), avg3_at(4), avg3_at(5), avg3_at(6)],
    ],
    [
        [avg2_at(5), avg2_at(6), avg2_at(7), avg2_at(8)],
        [avg3_at(6), avg3_at(7), avg3_at(8), avg3_at(9)],
        [avg2_at(6), avg2_at(7), avg2_at(8), avg3_at(10)],
        [avg3_at(7), avg3_at(8), avg3_at(9), avg3_at(11)],
    ],
    [
        [avg2_at(3), avg3_at(4), avg3_at(5), avg3_at(6)],
        [avg2_at(2), avg3_at(3), avg2_at(3), avg3_at(4)],
        [avg2_at(1), avg3_at(2), avg2_at(2), avg3_at(3)],
        [avg2_at(0), avg3_at(1), avg2_at(1), avg3_at(2)],
    ],
    [
        [avg2_at(2), avg3_at(2), avg2_at(1), avg3_at(1)],
        [avg2_at(1), avg3_at(1), avg2_at(0), avg3_at(0)],
        [avg2_at(0), avg3_at(0), LAST, LAST],
        [LAST; 4],
    ],
];

/// How a mode selects its prediction: indices into the averages of two and of three pixels,
/// and masks for B_DC_PRED and B_TM_PRED.
#[derive(Clone, Copy)]
struct PredictorSelection {
    avg2s: [u8; 16],
    avg3s: [u8; 16],
    dc: [u8; 16],
    tm: [u8; 16],
}

static SELECTIONS: [PredictorSelection; 10] = {
    let none = PredictorSelection {
        avg2s: [NONE; 16],
        avg3s: [NONE; 16],
        dc: [0; 16],
        tm: [0; 16],
    };
    let mut selections = [none; 10];
    selections[SubblockMode::DcPred as usize].dc = [255; 16];
    selections[SubblockMode::TmPred as usize].tm = [255; 16];
    let mut at = 0;
    while at < 160 {
        let (mode, pixel) = (at / 16, at % 16);
        let place = MODES[mode][pixel / 4][pixel % 4];
        if place < 16 {
            selections[mode].avg2s[pixel] = place;
        } else {
            selections[mode].avg3s[pixel] = place - 16;
        }
        at += 1;
    }
    selections
};

/// The positions of the above-left pixel and of the row above in the edge, for each of four
/// subblocks, with the last pixel doubled. Indices refer to the 16 pixels above, the four
/// to their right, the above-left pixel, and zeros.
const ABOVE: [[u8; 16]; 4] = [
    [31, 31, 31, 31, 31, 20, 0, 1, 2, 3, 4, 5, 6, 7, 7, 31],
    [31, 31, 31, 31, 31, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11, 31],
    [31, 31, 31, 31, 31, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15, 31],
    [
        31, 31, 31, 31, 31, 11, 12, 13, 14, 15, 16, 17, 18, 19, 19, 31,
    ],
];
/// The right column of the left subblock, bottom to top, with the lowest pixel doubled.
const COLUMN: [u8; 16] = [15, 15, 11, 7, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const IS_COLUMN: [u8; 16] = [255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// For each row of subblocks, the left pixels laid out like the rows of a subblock.
const BESIDE: [[u8; 16]; 4] = {
    let mut rows = [[0; 16]; 4];
    let mut at = 0;
    while at < 64 {
        rows[at / 16][at % 16] = (at / 4) as u8;
        at += 1;
    }
    rows
};

/// Predicts and reconstructs the 16 subblocks of a macroblock. `above` holds the above-left
/// pixel, 16 pixels above and four to their right.
#[inline(always)]
pub(super) fn predict_subblocks<S: Simd>(
    simd: S,
    modes: &[SubblockMode; 16],
    above: &[u8; 21],
    left: &[u8; 16],
    coefficients: &Coefficients,
    rows: &mut [u8x16<S>; 16],
) {
    let coded = coefficients.counts[..16].iter().any(|count| *count > 0);
    let mut line = u8x16::from_slice(simd, &above[1..17]);
    // Subblocks in the last column use the pixels above and to the right of the macroblock
    // in every row (section 12.3). The above-left pixel follows them.
    let mut beyond = [0; 16];
    beyond[..4].copy_from_slice(&above[17..]);
    beyond[4] = above[0];
    for (y, rows) in rows.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let at = y * 4;
        let mut block_residues = [Residue::none(simd); 4];
        if coded {
            block_residues = residues(simd, coefficients, [at, at + 1, at + 2, at + 3]);
        }
        let mut blocks = [line; 4];
        let mut before = pick(u8x16::from_slice(simd, left), BESIDE[y]);
        for x in 0..4 {
            let above = line.concat_swizzle_dyn(beyond, ABOVE[x]);
            let block = predict_subblock(simd, modes[at + x], above, before);
            before = block_residues[x].add_to(block);
            blocks[x] = before;
        }
        *rows = side_by_side(blocks);
        line = rows[3];
        beyond[4] = left[at + 3];
    }
}

/// Predicts one subblock from the pixels above it and the subblock to its left.
#[inline(always)]
fn predict_subblock<S: Simd>(
    simd: S,
    mode: SubblockMode,
    above: u8x16<S>,
    left: u8x16<S>,
) -> u8x16<S> {
    let none = u8x16::splat(simd, 0);
    let column = pick(left, COLUMN) & u8x16::load_array(simd, IS_COLUMN);
    let edges = above.max(column);
    let (next, after) = (edges.slide::<1>(none), edges.slide::<2>(none));
    let avg2s = avg2(simd, edges, next);
    let odd = (edges ^ after) & u8x16::splat(simd, 1);
    let outer = avg2(simd, edges, after).saturating_sub(odd);
    let avg3s = avg2(simd, next, outer);

    let over = pick(above, [6, 7, 8, 9, 6, 7, 8, 9, 6, 7, 8, 9, 6, 7, 8, 9]);
    let beside = pick(
        left,
        [3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15],
    );
    let tm = tm_pred(over, beside, pick(above, [5; 16]));

    let beside = pick(
        left,
        [3, 7, 11, 15, 3, 7, 11, 15, 3, 7, 11, 15, 3, 7, 11, 15],
    );
    let (over, beside) = (simd.widen_u8x16(over).0, simd.widen_u8x16(beside).0);
    // Each lane sums two of the eight pixels and its share of the rounding.
    let mut sum = over + beside + u16x8::splat(simd, 1);
    sum = sum + sum.slide::<2>(sum);
    sum = sum + sum.slide::<1>(sum);
    let dc = simd.relaxed_narrow_u16x8(sum >> 3, sum >> 3);

    let selection = &SELECTIONS[mode as usize];
    pick(avg2s, selection.avg2s)
        | pick(avg3s, selection.avg3s)
        | (tm & u8x16::load_array(simd, selection.tm))
        | (dc & u8x16::load_array(simd, selection.dc))
}

/// The averages of both, rounded up.
#[inline(always)]
fn avg2<S: Simd>(simd: S, a: u8x16<S>, b: u8x16<S>) -> u8x16<S> {
    let mut halves = (a ^ b).to_array();
    for half in &mut halves {
        *half >>= 1;
    }
    // Compilers turn this form into an averaging instruction if there is one.
    (a | b) - u8x16::load_array(simd, halves)
}

/// The pixels at these indices.
#[inline(always)]
fn pick<S: Simd>(from: u8x16<S>, places: [u8; 16]) -> u8x16<S> {
    from.swizzle_dyn_within_blocks(places)
}
