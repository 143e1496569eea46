//! DCT tokens, several booleans at a time (RFC 6386, section 13.2).
//!
//! End of block, zero, one and the sign take up to four dependent booleans. One table
//! lookup decodes all of them, with few branches to mispredict.

use std::hint::select_unpredictable;

use super::bit_window::BitWindow;
use super::bool_decoder::BoolDecoder;
use super::token_tables::{LargeTokenTable, SmallTokenTable, SmallTokenThresholds};

/// The next token of a block.
pub(super) enum DctToken {
    /// No more nonzero coefficients.
    EndOfBlock,
    /// 0, 1 or −1, and whether it is nonzero.
    Small(i32, bool),
    /// Two or more; the value follows.
    Large,
    /// The table has no entry. Nothing was consumed.
    NotInTable,
}

/// Reads tokens by table lookup.
pub(super) struct TokenReader<'a> {
    window: BitWindow<'a>,
    /// The range, normalized to eight bits, without its leading one.
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

    /// Fills the window once per block, so that the check per token is predictable.
    #[inline(always)]
    pub(super) fn start_block(&mut self) {
        self.window.fill();
    }

    /// Decodes booleans one by one.
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
        // Branchless: these outcomes are unpredictable.
        let (is_one, is_minus) = (value >= one, value >= minus);
        let width = select_unpredictable(is_one, minus.wrapping_sub(one), zeros);
        let width = select_unpredictable(is_minus, minuses, width);
        let from = select_unpredictable(is_one, one, zero);
        let from = select_unpredictable(is_minus, minus, from);
        self.take(from, width);
        let value = i32::from(is_one) - 2 * i32::from(is_minus);
        DctToken::Small(value, is_one)
    }

    /// A value of two to four with its sign; `None` if it is larger or not in the table,
    /// and nothing was consumed.
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

    /// The next 16 bits.
    #[inline(always)]
    fn value(&mut self) -> u64 {
        if self.window.count < 16 {
            self.window.fill();
        }
        self.window.bits >> 48
    }

    /// Narrows the range to `width` values from `from`, and normalizes.
    #[inline(always)]
    fn take(&mut self, from: u64, width: u64) {
        let width = width as u32;
        let zeros = width.leading_zeros();
        // The leading one is shifted out.
        self.range = (width << 1).wrapping_shl(zeros) >> 25;
        self.window.bits = self.window.bits.wrapping_sub(from << 48);
        self.window.skip(zeros - 16);
    }
}
