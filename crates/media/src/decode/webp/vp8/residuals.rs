//! The coefficients of a block: what its prediction did not get right.

use super::bools::{Bools, Chance};
use super::header::Steps;
use super::tables::Chances;
use super::transform::means;

/// Where coefficients go, in the order in which they come.
const ZIGZAG: [u8; 16] = [0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15];
/// The row of chances for each place.
const BANDS: [u8; 16] = [0, 1, 2, 3, 6, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6, 7];
/// Chances of the bits of large values, by their size.
const LARGE: [&[u8]; 4] = [
    &[173, 148, 140],
    &[176, 155, 140, 135],
    &[180, 157, 141, 134, 130],
    &[254, 254, 243, 230, 196, 177, 153, 140, 133, 130, 129],
];

/// The chances of a frame by kind of block, by place, by what came before, by
/// branch of the tree.
pub(super) type Places = [[[[Chance; 11]; 3]; 16]; 4];

/// Chances of rows of places as chances of places.
pub(super) fn by_place(chances: &Chances) -> Box<Places> {
    let by_place = |kind: &[[[u8; 11]; 3]; 8]| {
        BANDS.map(|band| kind[usize::from(band)].map(|branches| branches.map(Chance::from)))
    };
    Box::new([0, 1, 2, 3].map(|kind| by_place(&chances[kind])))
}

/// Which blocks beside the next ones had coefficients: four of brightness, two
/// of each colour, one of means.
#[derive(Clone, Copy, Default)]
pub(super) struct Edge {
    blocks: [u8; 8],
    means: u8,
}

impl Edge {
    /// Beside a block without coefficients; that of means counts only if it could have had some.
    pub(super) fn clear(&mut self, has_means: bool) {
        self.blocks = [0; 8];
        if has_means {
            self.means = 0;
        }
    }
}

/// The coefficients of sixteen small blocks of brightness and four of each
/// colour.
pub(super) struct Residuals {
    pub(super) blocks: [[i16; 16]; 24],
    /// How many coefficients of each block may be other than zero.
    pub(super) counts: [u8; 24],
    /// What those of brightness and of colours are multiplied with, the first
    /// one of each block and the others.
    pub(super) steps: [[i16; 2]; 2],
}

impl Residuals {
    pub(super) fn new() -> Self {
        Self {
            blocks: [[0; 16]; 24],
            counts: [0; 24],
            steps: [[0; 2]; 2],
        }
    }

    /// Forgets the last block.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        for (block, count) in self.blocks.iter_mut().zip(&mut self.counts) {
            if *count > 0 {
                (*block, *count) = ([0; 16], 0);
            }
        }
    }

    /// Reads a block; tells whether it has any coefficient but zero.
    #[inline(always)]
    pub(super) fn read(
        &mut self,
        bools: &mut Bools<'_>,
        chances: &Places,
        steps: &Steps,
        has_means: bool,
        (above, left): (&mut Edge, &mut Edge),
    ) -> bool {
        let mut local = *bools;
        self.steps = [steps.luma, steps.color];
        let (first, kind) = if has_means {
            let mut block = [0; 16];
            let before = above.means + left.means;
            let count = coefficients(&mut local, &chances[1], before, 0, &mut block);
            (above.means, left.means) = (u8::from(count > 0), u8::from(count > 0));
            if count > 0 {
                multiply(&mut block, steps.means);
                // They are whole already.
                self.steps[0][0] = 1;
                for ((block, count), mean) in self
                    .blocks
                    .iter_mut()
                    .zip(&mut self.counts)
                    .zip(means(&block))
                {
                    block[0] = mean;
                    *count = u8::from(mean != 0);
                }
            }
            (1, &chances[0])
        } else {
            (0, &chances[3])
        };
        // Side by side and one below the other, by place in the edges.
        for (at, side, from, kind, first) in [
            (0, 4, 0, kind, first),
            (16, 2, 4, &chances[2], 0),
            (20, 2, 6, &chances[2], 0),
        ] {
            for y in 0..side {
                for x in 0..side {
                    let (above, left) = (&mut above.blocks[from + x], &mut left.blocks[from + y]);
                    let place = at + y * side + x;
                    let block = &mut self.blocks[place];
                    let count = coefficients(&mut local, kind, *above + *left, first, block);
                    let coded = u8::from(usize::from(count) > first);
                    (*above, *left) = (coded, coded);
                    if coded > 0 {
                        self.counts[place] = count;
                    }
                }
            }
        }
        *bools = local;
        self.counts.iter().any(|count| *count > 0)
    }
}

/// Coefficients as large as they were before they were written.
#[inline(always)]
pub(super) fn multiply(block: &mut [i16; 16], [first, others]: [i16; 2]) {
    let mut steps = [others; 16];
    steps[0] = first;
    for (value, step) in block.iter_mut().zip(steps) {
        *value = value.wrapping_mul(step);
    }
}

/// Reads the coefficients of one small block; tells the place behind the last.
#[inline(always)]
fn coefficients(
    bools: &mut Bools<'_>,
    chances: &[[[Chance; 11]; 3]; 16],
    before: u8,
    first: usize,
    block: &mut [i16; 16],
) -> u8 {
    let mut at = first;
    let mut p = &chances[at][usize::from(before.min(2))];
    if !bools.bool(p[0]) {
        return at as u8;
    }
    loop {
        while !bools.bool(p[1]) {
            at += 1;
            if at > 15 {
                return 16;
            }
            p = &chances[at][0];
        }
        let (value, next) = if bools.bool(p[2]) {
            (large(bools, p), 2)
        } else {
            (1, 1)
        };
        let value = bools.signed(value);
        block[usize::from(ZIGZAG[at & 15])] = value as i16;
        at += 1;
        if at > 15 {
            return 16;
        }
        p = &chances[at][next];
        if !bools.bool(p[0]) {
            return at as u8;
        }
    }
}

/// A value of two or more.
#[inline(always)]
fn large(bools: &mut Bools<'_>, p: &[Chance; 11]) -> i32 {
    if !bools.bool(p[3]) {
        if !bools.bool(p[4]) {
            2
        } else {
            3 + bools.bit(p[5])
        }
    } else if !bools.bool(p[6]) {
        if !bools.bool(p[7]) {
            5 + bools.bit(159_u8)
        } else {
            7 + 2 * bools.bit(165_u8) + bools.bit(145_u8)
        }
    } else {
        let high = bools.bit(p[8]) as usize;
        let size = 2 * high + bools.bit(p[9 + high]) as usize;
        let rest = LARGE[size].iter();
        let rest = rest.fold(0, |rest, chance| rest << 1 | bools.bit(*chance));
        rest + 3 + (8 << size)
    }
}
