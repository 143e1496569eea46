//! All decisions about a small coefficient at once.
//!
//! Whether a block ends, whether its next coefficient is zero, whether it is one,
//! and its sign: these are up to four decisions, and each waits for the one
//! before. A look at a table answers all of them, with little for the processor
//! to guess wrong.

use std::hint::select_unpredictable;

use super::bit_window::BitWindow;
use super::bool_decoder::BoolDecoder;
use super::token_tables::{LargeTokenTable, SmallTokenTable, SmallTokenThresholds};

/// What comes next in a block.
pub(super) enum DctToken {
    /// No more coefficients but zeros.
    EndOfBlock,
    /// Zero, one, or minus one, and whether it is not zero.
    Small(i32, bool),
    /// Two or more; how much is still to be read.
    Large,
    /// The table does not know. Nothing was read.
    NotInTable,
}

/// Reads coefficients by tables.
pub(super) struct TokenReader<'a> {
    window: BitWindow<'a>,
    /// Always eight bits wide, without the first one, which is always set.
    range: u32,
}

impl<'a> TokenReader<'a> {
    #[inline(always)]
    pub(super) fn new(bools: BoolDecoder<'a>) -> Self {
        let (window, range) = bools.pause();
        Self {
            window,
            range: range & 127,
        }
    }

    #[inline(always)]
    pub(super) fn into_bools(self) -> BoolDecoder<'a> {
        BoolDecoder::resume(self.window, self.range | 128)
    }

    /// Takes in what is needed for most blocks, so that the check for every
    /// token nearly always ends the same way.
    #[inline(always)]
    pub(super) fn start_block(&mut self) {
        self.window.fill();
    }

    /// Reads decisions one by one.
    #[inline(always)]
    pub(super) fn one_by_one<T>(&mut self, read: impl FnOnce(&mut BoolDecoder<'a>) -> T) -> T {
        let mut bools = BoolDecoder::resume(self.window, self.range | 128);
        let read = read(&mut bools);
        *self = Self::new(bools);
        read
    }

    #[inline(always)]
    pub(super) fn next(&mut self, table: &SmallTokenTable) -> DctToken {
        let value = self.value();
        let SmallTokenThresholds {
            one,
            zeros,
            minuses,
            minus,
        } = table.at_range(self.range);
        let (zero, larger) = (one.wrapping_sub(zeros), minus.wrapping_add(minuses));
        if value < zero {
            self.take(0, zero);
            return DctToken::EndOfBlock;
        }
        if value >= larger {
            if minuses == 0 {
                return DctToken::NotInTable;
            }
            let end = u64::from(self.range | 128) << 8;
            self.take(larger, end.wrapping_sub(larger));
            return DctToken::Large;
        }
        // Choices without branches: nobody can tell beforehand which it will be.
        let (is_one, is_minus) = (value >= one, value >= minus);
        let width = select_unpredictable(is_one, minus.wrapping_sub(one), zeros);
        let width = select_unpredictable(is_minus, minuses, width);
        let from = select_unpredictable(is_one, one, zero);
        let from = select_unpredictable(is_minus, minus, from);
        self.take(from, width);
        let value = i32::from(is_one) - 2 * i32::from(is_minus);
        DctToken::Small(value, is_one)
    }

    /// A coefficient of two to four and its sign; none if it is larger, or the
    /// table does not know. Nothing was read then.
    #[inline(always)]
    pub(super) fn next_large(&mut self, table: &LargeTokenTable) -> Option<i32> {
        let value = self.value();
        let from = table.at_range(self.range);
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
