//! Small blocks of four by four pixels as their neighbours suggest them.
//!
//! All ways to continue the neighbours are taken for every block, and what is
//! wanted is picked from that: a processor that guesses the next way wrong would
//! lose more time.

use fearless_simd::{Simd, prelude::*, u8x16, u16x8};

use super::differences::{Differences, differences, side_by_side};
use super::modes::SmallMode;
use super::predict::slope;
use super::residuals::Residuals;

/// Of the means of neighbours, one that is zero.
const NONE: u8 = 15;
/// The neighbour below on the left: its mean with itself.
const LAST: u8 = 0;

/// Where the mean of a neighbour and the next one is. They are counted from
/// below on the left over the corner, which is 4, to above on the right.
const fn two(at: u8) -> u8 {
    at + 1
}

/// Where the mean around a neighbour is, in which that one counts twice.
const fn three(at: u8) -> u8 {
    at + 16
}

/// What the rows of a block are, for each mode.
const MODES: [[[u8; 4]; 4]; 10] = [
    // Mean and slope are none of these.
    [[NONE; 4]; 4],
    [[NONE; 4]; 4],
    [[three(5), three(6), three(7), three(8)]; 4],
    [[three(3); 4], [three(2); 4], [three(1); 4], [three(0); 4]],
    [
        [three(6), three(7), three(8), three(9)],
        [three(7), three(8), three(9), three(10)],
        [three(8), three(9), three(10), three(11)],
        [three(9), three(10), three(11), three(12)],
    ],
    [
        [three(4), three(5), three(6), three(7)],
        [three(3), three(4), three(5), three(6)],
        [three(2), three(3), three(4), three(5)],
        [three(1), three(2), three(3), three(4)],
    ],
    [
        [two(4), two(5), two(6), two(7)],
        [three(4), three(5), three(6), three(7)],
        [three(3), two(4), two(5), two(6)],
        [three(2), three(4), three(5), three(6)],
    ],
    [
        [two(5), two(6), two(7), two(8)],
        [three(6), three(7), three(8), three(9)],
        [two(6), two(7), two(8), three(10)],
        [three(7), three(8), three(9), three(11)],
    ],
    [
        [two(3), three(4), three(5), three(6)],
        [two(2), three(3), two(3), three(4)],
        [two(1), three(2), two(2), three(3)],
        [two(0), three(1), two(1), three(2)],
    ],
    [
        [two(2), three(2), two(1), three(1)],
        [two(1), three(1), two(0), three(0)],
        [two(0), three(0), LAST, LAST],
        [LAST; 4],
    ],
];

/// What is picked for a mode: places in the means of two and of three, and all
/// bits where the mean or the slope is wanted.
#[derive(Clone, Copy)]
struct Choice {
    twos: [u8; 16],
    threes: [u8; 16],
    mean: [u8; 16],
    slope: [u8; 16],
}

static CHOICES: [Choice; 10] = {
    let none = Choice {
        twos: [NONE; 16],
        threes: [NONE; 16],
        mean: [0; 16],
        slope: [0; 16],
    };
    let mut choices = [none; 10];
    choices[SmallMode::Mean as usize].mean = [255; 16];
    choices[SmallMode::Slope as usize].slope = [255; 16];
    let mut at = 0;
    while at < 160 {
        let (mode, pixel) = (at / 16, at % 16);
        let place = MODES[mode][pixel / 4][pixel % 4];
        if place < 16 {
            choices[mode].twos[pixel] = place;
        } else {
            choices[mode].threes[pixel] = place - 16;
        }
        at += 1;
    }
    choices
};

/// The corner and what is above each of four blocks, at the places that it has
/// among the neighbours, of which the last is there twice. It is taken from the
/// sixteen pixels above, the four on their right, their corner, and zero.
const ABOVE: [[u8; 16]; 4] = [
    [31, 31, 31, 31, 31, 20, 0, 1, 2, 3, 4, 5, 6, 7, 7, 31],
    [31, 31, 31, 31, 31, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11, 31],
    [31, 31, 31, 31, 31, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15, 31],
    [
        31, 31, 31, 31, 31, 11, 12, 13, 14, 15, 16, 17, 18, 19, 19, 31,
    ],
];
/// The last column of the block on the left, from below, where the first is
/// there twice.
const COLUMN: [u8; 16] = [15, 15, 11, 7, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const IS_COLUMN: [u8; 16] = [255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// For each row of blocks, the pixels on its left as a block has them in its
/// rows.
const BESIDE: [[u8; 16]; 4] = {
    let mut rows = [[0; 16]; 4];
    let mut at = 0;
    while at < 64 {
        rows[at / 16][at % 16] = (at / 4) as u8;
        at += 1;
    }
    rows
};

/// Fills the rows of sixteen small blocks from one pixel at the corner, sixteen
/// above and four more on their right, and sixteen on the left.
#[inline(always)]
pub(super) fn paint_small<S: Simd>(
    simd: S,
    modes: &[SmallMode; 16],
    above: &[u8; 21],
    left: &[u8; 16],
    residuals: &Residuals,
    rows: &mut [u8x16<S>; 16],
) {
    let coded = residuals.counts[..16].iter().any(|count| *count > 0);
    let mut line = u8x16::from_slice(simd, &above[1..17]);
    // What is above on the right of all blocks stands for what is there of those
    // inside. The corner comes behind it.
    let mut beyond = [0; 16];
    beyond[..4].copy_from_slice(&above[17..]);
    beyond[4] = above[0];
    for (y, rows) in rows.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let at = y * 4;
        let mut corrections = [Differences::none(simd); 4];
        if coded {
            corrections = differences(simd, residuals, [at, at + 1, at + 2, at + 3]);
        }
        let mut blocks = [line; 4];
        let mut before = pick(u8x16::from_slice(simd, left), BESIDE[y]);
        for x in 0..4 {
            let above = line.concat_swizzle_dyn(beyond, ABOVE[x]);
            let block = predict(simd, modes[at + x], above, before);
            before = corrections[x].add_to(block);
            blocks[x] = before;
        }
        *rows = side_by_side(blocks);
        line = rows[3];
        beyond[4] = left[at + 3];
    }
}

/// A block from what is above it, and from the block on its left.
#[inline(always)]
fn predict<S: Simd>(simd: S, mode: SmallMode, above: u8x16<S>, left: u8x16<S>) -> u8x16<S> {
    let none = u8x16::splat(simd, 0);
    let column = pick(left, COLUMN) & u8x16::load_array(simd, IS_COLUMN);
    let around = above.max(column);
    let (next, after) = (around.slide::<1>(none), around.slide::<2>(none));
    let twos = mean_of_two(simd, around, next);
    let odd = (around ^ after) & u8x16::splat(simd, 1);
    let outer = mean_of_two(simd, around, after).saturating_sub(odd);
    let threes = mean_of_two(simd, next, outer);

    let over = pick(above, [6, 7, 8, 9, 6, 7, 8, 9, 6, 7, 8, 9, 6, 7, 8, 9]);
    let beside = pick(
        left,
        [3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15],
    );
    let slope = slope(over, beside, pick(above, [5; 16]));

    let beside = pick(
        left,
        [3, 7, 11, 15, 3, 7, 11, 15, 3, 7, 11, 15, 3, 7, 11, 15],
    );
    let (over, beside) = (simd.widen_u8x16(over).0, simd.widen_u8x16(beside).0);
    // Each lane has two of the eight, and one of the four that round.
    let mut sum = over + beside + u16x8::splat(simd, 1);
    sum = sum + sum.slide::<2>(sum);
    sum = sum + sum.slide::<1>(sum);
    let mean = simd.relaxed_narrow_u16x8(sum >> 3, sum >> 3);

    let choice = &CHOICES[mode as usize];
    pick(twos, choice.twos)
        | pick(threes, choice.threes)
        | (slope & u8x16::load_array(simd, choice.slope))
        | (mean & u8x16::load_array(simd, choice.mean))
}

/// The means of both, rounded up.
#[inline(always)]
fn mean_of_two<S: Simd>(simd: S, a: u8x16<S>, b: u8x16<S>) -> u8x16<S> {
    let mut halves = (a ^ b).to_array();
    for half in &mut halves {
        *half >>= 1;
    }
    // In this form, processors that have an instruction for it are made use of.
    (a | b) - u8x16::load_array(simd, halves)
}

/// The pixels at these places.
#[inline(always)]
fn pick<S: Simd>(from: u8x16<S>, places: [u8; 16]) -> u8x16<S> {
    from.swizzle_dyn_within_blocks(places)
}
