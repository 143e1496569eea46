//! Yes or no, each with a prob that is known beforehand: arithmetic decoding.

use super::bit_window::BitWindow;

/// How likely a decision is no, ready to be reckoned with: in 256ths, and what
/// they lack of 256 above them.
#[derive(Clone, Copy)]
pub(super) struct Prob(u32);

impl From<u8> for Prob {
    #[inline(always)]
    fn from(prob: u8) -> Self {
        let prob = u32::from(prob);
        Self((256 - prob) << 8 | prob)
    }
}

/// Reads decisions from packed data.
#[derive(Clone, Copy)]
pub(super) struct BoolDecoder<'a> {
    window: BitWindow<'a>,
    /// Not widened to eight bits yet.
    range: u32,
}

impl<'a> BoolDecoder<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self::resume(BitWindow::new(data), 255)
    }

    /// Goes on with a range of eight bits or fewer.
    #[inline(always)]
    pub(super) fn resume(window: BitWindow<'a>, range: u32) -> Self {
        Self { window, range }
    }

    /// What is left, with the range widened to its eight bits.
    #[inline(always)]
    pub(super) fn pause(mut self) -> (BitWindow<'a>, u32) {
        let shift = self.range.leading_zeros() & 7;
        self.window.skip(shift);
        (self.window, self.range << shift)
    }

    /// One decision whose prob to be no is so many 256ths.
    #[inline(always)]
    pub(super) fn read_bool(&mut self, prob: impl Into<Prob>) -> bool {
        let (range, split) = self.split(prob.into());
        let limit = u64::from(split) << 56;
        // Two ways rather than one with choices in it: whoever asks branches
        // anyway, and the processor goes on along the way that it expects.
        if self.window.bits >= limit {
            self.window.bits -= limit;
            self.range = range - split;
            true
        } else {
            self.range = split;
            false
        }
    }

    /// The same as a number, for whoever does not branch: where both ways are
    /// about as likely, the processor expects the wrong one too often.
    #[inline(always)]
    pub(super) fn read_bit(&mut self, prob: impl Into<Prob>) -> i32 {
        let (range, split) = self.split(prob.into());
        let limit = u64::from(split) << 56;
        let is_set = self.window.bits >= limit;
        self.window.bits -= limit & u64::from(is_set).wrapping_neg();
        self.range = if is_set { range - split } else { split };
        i32::from(is_set)
    }

    /// The number with the sign that is read, each as likely as the other.
    #[inline(always)]
    pub(super) fn read_signed(&mut self, number: i32) -> i32 {
        let sign = -self.read_bit(128_u8);
        (number ^ sign) - sign
    }

    /// The range widened to its eight bits, and where it is split.
    ///
    /// What comes next waits for this and for nothing else, so the product is
    /// taken before it is known how far the range must be widened.
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

    /// A decision without a preference.
    #[inline(always)]
    pub(super) fn read_flag(&mut self) -> bool {
        self.read_bool(128_u8)
    }

    /// A number of so many bits.
    pub(super) fn read_literal(&mut self, bits: u32) -> u8 {
        (0..bits).fold(0, |number, _| number << 1 | u8::from(self.read_flag()))
    }

    /// A number with its sign behind it, if a flag says that there is one.
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
