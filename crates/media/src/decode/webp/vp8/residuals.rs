//! The coefficients of a block: what its prediction did not get right.

use super::bools::{Bools, Chance};
use super::header::Steps;
use super::limits::{LargerLimits, Limits};
use super::tables::Chances;
use super::tokens::{Token, Tokens};
use super::transform::means;

/// Where coefficients go, in the order in which they come.
const ZIGZAG: [u8; 16] = [0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15];
/// The row of chances for each place; behind the last one any will do.
const BANDS: [usize; 17] = [0, 1, 2, 3, 6, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6, 7, 0];
/// Chances of the bits of large values, by their size.
const LARGE: [&[u8]; 4] = [
    &[173, 148, 140],
    &[176, 155, 140, 135],
    &[180, 157, 141, 134, 130],
    &[254, 254, 243, 230, 196, 177, 153, 140, 133, 130, 129],
];

/// The chances of a kind of block, by row of chances, by what came before: of
/// each branch of the tree, and what its branches come to.
pub(super) struct Kind {
    chances: [[[Chance; 11]; 3]; 8],
    limits: [[Limits; 3]; 8],
    larger: [[LargerLimits; 3]; 8],
    /// At the first place, behind nothing, where a block can end.
    first: Limits,
}

/// The chances of a frame by kind of block. Tables are only made where there is
/// so much to read that they pay.
pub(super) fn kinds(chances: &Chances, with_tables: bool) -> Vec<Kind> {
    let kinds = chances.iter().enumerate().map(|(kind, chances)| {
        let mut made = Kind {
            chances: chances.map(|row| row.map(|branches| branches.map(Chance::from))),
            limits: [const { [Limits::EMPTY; 3] }; 8],
            larger: [const { [LargerLimits::EMPTY; 3] }; 8],
            first: Limits::EMPTY,
        };
        if with_tables {
            let rows = made.limits.iter_mut().zip(&mut made.larger);
            for ((limits, larger), chances) in rows.zip(chances) {
                for (before, chances) in chances.iter().enumerate() {
                    limits[before] = Limits::new(chances, before > 0);
                    larger[before] = LargerLimits::new(chances);
                }
            }
            // Blocks with means of their own begin at their second place.
            made.first = Limits::new(&chances[usize::from(kind == 0)][0], true);
        }
        made
    });
    kinds.collect()
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
        kinds: &[Kind],
        steps: &Steps,
        has_means: bool,
        (above, left): (&mut Edge, &mut Edge),
    ) -> bool {
        let mut tokens = Tokens::new(*bools);
        self.steps = [steps.luma, steps.color];
        let (first, kind) = if has_means {
            let mut block = [0; 16];
            let before = above.means + left.means;
            let count = coefficients(&mut tokens, &kinds[1], before, 0, &mut block);
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
            (1, &kinds[0])
        } else {
            (0, &kinds[3])
        };
        // Side by side and one below the other, by place in the edges.
        for (at, side, from, kind, first) in [
            (0, 4, 0, kind, first),
            (16, 2, 4, &kinds[2], 0),
            (20, 2, 6, &kinds[2], 0),
        ] {
            for y in 0..side {
                for x in 0..side {
                    let (above, left) = (&mut above.blocks[from + x], &mut left.blocks[from + y]);
                    let place = at + y * side + x;
                    let block = &mut self.blocks[place];
                    let count = coefficients(&mut tokens, kind, *above + *left, first, block);
                    let coded = u8::from(usize::from(count) > first);
                    (*above, *left) = (coded, coded);
                    if coded > 0 {
                        self.counts[place] = count;
                    }
                }
            }
        }
        *bools = tokens.into_bools();
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
    tokens: &mut Tokens<'_>,
    kind: &Kind,
    before: u8,
    first: usize,
    block: &mut [i16; 16],
) -> u8 {
    let mut before = usize::from(before.min(2));
    let mut limits = match before {
        0 => &kind.first,
        _ => &kind.limits[BANDS[first]][before],
    };
    tokens.start_block();
    for at in first..16 {
        let chances = &kind.chances[BANDS[at]][before];
        let value;
        (value, before) = match tokens.next(limits) {
            Token::End => return at as u8,
            Token::Small(value, is_one) => (value, usize::from(is_one)),
            Token::Larger => match tokens.larger(&kind.larger[BANDS[at]][before]) {
                Some(value) => (value, 2),
                None => (tokens.singly(|bools| large(bools, chances)), 2),
            },
            Token::Unknown => {
                let can_end = at == first || before > 0;
                match tokens.singly(|bools| any(bools, chances, can_end)) {
                    Some(value) => (value, value.unsigned_abs().min(2) as usize),
                    None => return at as u8,
                }
            }
        };
        block[usize::from(ZIGZAG[at])] = value as i16;
        limits = &kind.limits[BANDS[at + 1]][before];
    }
    16
}

/// A coefficient by one decision after the other; none at the end of a block.
fn any(bools: &mut Bools<'_>, p: &[Chance; 11], can_end: bool) -> Option<i32> {
    if can_end && !bools.bool(p[0]) {
        return None;
    }
    if !bools.bool(p[1]) {
        return Some(0);
    }
    Some(if bools.bool(p[2]) {
        large(bools, p)
    } else {
        bools.signed(1)
    })
}

/// A value of two or more, and its sign.
#[inline(always)]
fn large(bools: &mut Bools<'_>, p: &[Chance; 11]) -> i32 {
    let value = if !bools.bool(p[3]) {
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
    };
    bools.signed(value)
}
