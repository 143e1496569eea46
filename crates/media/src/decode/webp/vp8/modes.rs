//! How each block is predicted from its neighbours.

use super::bools::Bools;
use super::header::Frame;
use super::tables::SMALL_MODES;

/// From where a block of pixels is continued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// The mean of the pixels above and on the left.
    #[default]
    Mean,
    /// The slope between both.
    Slope,
    /// Downwards.
    Down,
    /// To the right.
    Right,
}

/// From where a small block of four by four pixels is continued, in the order
/// of the standard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SmallMode {
    #[default]
    Mean,
    Slope,
    Down,
    Right,
    DownLeft,
    DownRight,
    SteepRight,
    SteepLeft,
    FlatDown,
    FlatUp,
}

/// How brightness is predicted.
#[derive(Clone, Copy)]
pub(super) enum Luma {
    Whole(Mode),
    Small([SmallMode; 16]),
}

/// What is said about a block before its coefficients.
pub(super) struct Block {
    pub(super) segment: usize,
    pub(super) skipped: bool,
    pub(super) luma: Luma,
    pub(super) color: Mode,
}

/// The ways of the small blocks above and on the left, which the next ones
/// depend on.
pub(super) struct Neighbours {
    above: Vec<[SmallMode; 4]>,
    left: [SmallMode; 4],
}

impl Neighbours {
    pub(super) fn new(across: usize) -> Self {
        Self {
            above: vec![Default::default(); across],
            left: Default::default(),
        }
    }

    pub(super) fn start_row(&mut self) {
        self.left = Default::default();
    }

    /// Reads what is said about the block in this column.
    #[inline(always)]
    pub(super) fn read(&mut self, frame: &mut Frame<'_>, column: usize) -> Block {
        let mut local = frame.modes;
        let bools = &mut local;
        let segment = frame.segments.map_or(0, |chances| {
            if bools.bool(chances[0]) {
                2 + usize::from(bools.bool(chances[2]))
            } else {
                usize::from(bools.bool(chances[1]))
            }
        });
        let skipped = frame.skips.is_some_and(|chance| bools.bool(chance));
        let luma = if bools.bool(145_u8) {
            let mode = if !bools.bool(156_u8) {
                if bools.bool(163_u8) {
                    Mode::Down
                } else {
                    Mode::Mean
                }
            } else if bools.bool(128_u8) {
                Mode::Slope
            } else {
                Mode::Right
            };
            let small = match mode {
                Mode::Mean => SmallMode::Mean,
                Mode::Slope => SmallMode::Slope,
                Mode::Down => SmallMode::Down,
                Mode::Right => SmallMode::Right,
            };
            (self.above[column], self.left) = ([small; 4], [small; 4]);
            Luma::Whole(mode)
        } else {
            Luma::Small(self.small(bools, column))
        };
        let color = if !bools.bool(142_u8) {
            Mode::Mean
        } else if !bools.bool(114_u8) {
            Mode::Down
        } else if bools.bool(183_u8) {
            Mode::Slope
        } else {
            Mode::Right
        };
        frame.modes = local;
        Block {
            segment,
            skipped,
            luma,
            color,
        }
    }

    #[inline(always)]
    fn small(&mut self, bools: &mut Bools<'_>, column: usize) -> [SmallMode; 16] {
        let mut modes = [SmallMode::Mean; 16];
        for (row, left) in modes.as_chunks_mut::<4>().0.iter_mut().zip(&mut self.left) {
            for (mode, above) in row.iter_mut().zip(&mut self.above[column]) {
                let chances = &SMALL_MODES[*above as usize][*left as usize];
                *mode = small_mode(bools, chances);
                (*above, *left) = (*mode, *mode);
            }
        }
        modes
    }
}

#[inline(always)]
fn small_mode(bools: &mut Bools<'_>, chances: &[u8; 9]) -> SmallMode {
    use SmallMode::*;
    if !bools.bool(chances[0]) {
        Mean
    } else if !bools.bool(chances[1]) {
        Slope
    } else if !bools.bool(chances[2]) {
        Down
    } else if !bools.bool(chances[3]) {
        if !bools.bool(chances[4]) {
            Right
        } else if !bools.bool(chances[5]) {
            DownRight
        } else {
            SteepRight
        }
    } else if !bools.bool(chances[6]) {
        DownLeft
    } else if !bools.bool(chances[7]) {
        SteepLeft
    } else if !bools.bool(chances[8]) {
        FlatDown
    } else {
        FlatUp
    }
}
