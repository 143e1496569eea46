//! The boolean entropy decoder (RFC 6386, section 7).

use super::bit_window::BitWindow;

/// The probability of `false` in 256ths (the low byte), and 256 minus it (above), as
/// [`BoolDecoder::split`] needs both.
#[derive(Clone, Copy)]
pub(super) struct Prob(u32);

impl From<u8> for Prob {
    #[inline(always)]
    fn from(prob: u8) -> Self {
        let prob = u32::from(prob);
        Self((256 - prob) << 8 | prob)
    }
}

/// Decodes booleans from a partition.
#[derive(Clone, Copy)]
pub(super) struct BoolDecoder<'a> {
    window: BitWindow<'a>,
    /// The range before normalization to eight bits.
    range: u32,
}

impl<'a> BoolDecoder<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self::resume(BitWindow::new(data), 255)
    }

    /// Resumes with a range of at most eight bits.
    #[inline(always)]
    pub(super) fn resume(window: BitWindow<'a>, range: u32) -> Self {
        Self { window, range }
    }

    /// The window and the range, normalized to eight bits.
    #[inline(always)]
    pub(super) fn pause(mut self) -> (BitWindow<'a>, u32) {
        let shift = self.range.leading_zeros() & 7;
        self.window.skip(shift);
        (self.window, self.range << shift)
    }

    /// Decodes one boolean.
    #[inline(always)]
    pub(super) fn read_bool(&mut self, prob: impl Into<Prob>) -> bool {
        let (range, split) = self.split(prob.into());
        let limit = u64::from(split) << 56;
        // A branch instead of a conditional move: callers branch on the result anyway, and
        // the processor predicts it.
        if self.window.bits >= limit {
            self.window.bits -= limit;
            self.range = range - split;
            true
        } else {
            self.range = split;
            false
        }
    }

    /// Decodes one boolean as an integer, without a branch: for values that are about
    /// equally likely, which the processor would mispredict.
    #[inline(always)]
    pub(super) fn read_bit(&mut self, prob: impl Into<Prob>) -> i32 {
        let (range, split) = self.split(prob.into());
        let limit = u64::from(split) << 56;
        let is_set = self.window.bits >= limit;
        self.window.bits -= limit & u64::from(is_set).wrapping_neg();
        self.range = if is_set { range - split } else { split };
        i32::from(is_set)
    }

    /// Decodes a sign with probability 1/2 and applies it.
    #[inline(always)]
    pub(super) fn read_signed(&mut self, number: i32) -> i32 {
        let sign = -self.read_bit(128_u8);
        (number ^ sign) - sign
    }

    /// Normalizes the range to eight bits and computes the split (section 7.3).
    ///
    /// The next boolean depends only on this, so the product is computed before the
    /// normalization shift is known.
    #[inline(always)]
    fn split(&mut self, Prob(prob): Prob) -> (u32, u32) {
        let lead = self.range.leading_zeros();
        let product = u64::from(self.range) * u64::from(prob & 255);
        let split = ((product << lead) + (u64::from(prob >> 8) << 24)) >> 32;
        let shift = lead & 7;
        self.window.skip(shift);
        if self.window.count < 8 {
            self.window.fill();
        }
        (self.range << shift, split as u32)
    }

    /// Decodes a flag: a boolean with probability 1/2.
    #[inline(always)]
    pub(super) fn read_flag(&mut self) -> bool {
        self.read_bool(128_u8)
    }

    /// Decodes an unsigned literal, `L(n)` in section 19.
    pub(super) fn read_literal(&mut self, bits: u32) -> u8 {
        (0..bits).fold(0, |number, _| number << 1 | u8::from(self.read_flag()))
    }

    /// Decodes a flag and, if it is set, a literal followed by its sign.
    pub(super) fn read_optional_signed(&mut self, bits: u32) -> Option<i8> {
        self.read_flag().then(|| {
            let number = self.read_literal(bits) as i8;
            if self.read_flag() { -number } else { number }
        })
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.window.is_exhausted()
    }
}
