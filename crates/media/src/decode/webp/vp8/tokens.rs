//! All decisions about a small coefficient at once.
//!
//! Whether a block ends, whether its next coefficient is zero, whether it is one,
//! and its sign: these are up to four decisions, and each waits for the one
//! before. A look at a table answers all of them, with little for the processor
//! to guess wrong.

use std::hint::select_unpredictable;

use super::bools::Bools;
use super::limits::{LargerLimits, Limit, Limits};
use super::window::Window;

/// What comes next in a block.
pub(super) enum Token {
    /// No more coefficients but zeros.
    End,
    /// Zero, one, or minus one, and whether it is not zero.
    Small(i32, bool),
    /// Two or more; how much is still to be read.
    Larger,
    /// The table does not know. Nothing was read.
    Unknown,
}

/// Reads coefficients by tables.
pub(super) struct Tokens<'a> {
    window: Window<'a>,
    /// Always eight bits wide, without the first one, which is always set.
    range: u32,
}

impl<'a> Tokens<'a> {
    #[inline(always)]
    pub(super) fn new(bools: Bools<'a>) -> Self {
        let (window, range) = bools.pause();
        Self {
            window,
            range: range & 127,
        }
    }

    #[inline(always)]
    pub(super) fn into_bools(self) -> Bools<'a> {
        Bools::resume(self.window, self.range | 128)
    }

    /// Takes in what is needed for most blocks, so that the check for every
    /// token nearly always ends the same way.
    #[inline(always)]
    pub(super) fn start_block(&mut self) {
        self.window.fill();
    }

    /// Reads decisions one by one.
    #[inline(always)]
    pub(super) fn singly<T>(&mut self, read: impl FnOnce(&mut Bools<'a>) -> T) -> T {
        let mut bools = Bools::resume(self.window, self.range | 128);
        let read = read(&mut bools);
        *self = Self::new(bools);
        read
    }

    #[inline(always)]
    pub(super) fn next(&mut self, limits: &Limits) -> Token {
        let value = self.value();
        let Limit {
            one,
            zeros,
            minuses,
            minus,
        } = limits.of(self.range);
        let (zero, larger) = (one.wrapping_sub(zeros), minus.wrapping_add(minuses));
        if value < zero {
            self.take(0, zero);
            return Token::End;
        }
        if value >= larger {
            if minuses == 0 {
                return Token::Unknown;
            }
            let end = u64::from(self.range | 128) << 8;
            self.take(larger, end.wrapping_sub(larger));
            return Token::Larger;
        }
        // Choices without branches: nobody can tell beforehand which it will be.
        let (is_one, is_minus) = (value >= one, value >= minus);
        let width = select_unpredictable(is_one, minus.wrapping_sub(one), zeros);
        let width = select_unpredictable(is_minus, minuses, width);
        let from = select_unpredictable(is_one, one, zero);
        let from = select_unpredictable(is_minus, minus, from);
        self.take(from, width);
        let value = i32::from(is_one) - 2 * i32::from(is_minus);
        Token::Small(value, is_one)
    }

    /// A coefficient of two to four and its sign; none if it is larger, or the
    /// table does not know. Nothing was read then.
    #[inline(always)]
    pub(super) fn larger(&mut self, limits: &LargerLimits) -> Option<i32> {
        let value = self.value();
        let from = limits.of(self.range);
        let passed = from[1..7].iter().filter(|from| value >= u64::from(**from));
        let outcome = passed.count();
        let [begin, end] = *from[outcome..].first_chunk()?;
        if outcome == 6 {
            return None;
        }
        self.take(u64::from(begin), u64::from(end - begin));
        let size = 2 + (outcome / 2) as i32;
        Some(if outcome % 2 == 0 { size } else { -size })
    }

    /// The next sixteen bits.
    #[inline(always)]
    fn value(&mut self) -> u64 {
        if self.window.count < 16 {
            self.window.fill();
        }
        self.window.bits >> 48
    }

    /// Goes on with the values from one limit on, of which there are so many.
    #[inline(always)]
    fn take(&mut self, from: u64, width: u64) {
        let width = width as u32;
        let zeros = width.leading_zeros();
        // The first bit that is set falls off on the left.
        self.range = (width << 1).wrapping_shl(zeros) >> 25;
        self.window.bits = self.window.bits.wrapping_sub(from << 48);
        self.window.skip(zeros - 16);
    }
}
