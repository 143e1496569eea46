//! Yes or no, each with a chance that is known beforehand: arithmetic decoding.

/// How likely a decision is no, ready to be reckoned with: in 256ths, and what
/// they lack of 256 above them.
#[derive(Clone, Copy)]
pub(super) struct Chance(u32);

impl From<u8> for Chance {
    #[inline(always)]
    fn from(chance: u8) -> Self {
        let chance = u32::from(chance);
        Self((256 - chance) << 8 | chance)
    }
}

/// Reads decisions from packed data. Behind its end there are zeros.
#[derive(Clone, Copy)]
pub(super) struct Bools<'a> {
    /// What is not read yet.
    data: &'a [u8],
    /// How many bytes were read behind its end.
    missing: usize,
    /// The next bits, from the top.
    value: u64,
    /// How many of them are there beyond the eight that are compared.
    count: i32,
    /// Not widened to eight bits yet.
    range: u32,
}

impl<'a> Bools<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self {
            data,
            missing: 0,
            value: 0,
            count: -8,
            range: 255,
        }
    }

    #[inline(always)]
    fn refill(&mut self) {
        // Fewer than eight are left.
        let left = (self.count + 8) as u32;
        if let Some(next) = self.data.first_chunk() {
            self.value |= u64::from_be_bytes(*next) >> 8 << (8 - left);
            self.data = &self.data[7..];
            self.count += 56;
        } else {
            self.refill_slowly(left);
        }
    }

    #[cold]
    fn refill_slowly(&mut self, left: u32) {
        if let Some((next, rest)) = self.data.split_first() {
            self.value |= u64::from(*next) << (56 - left);
            self.data = rest;
        } else {
            self.missing += 1;
        }
        self.count += 8;
    }

    /// One decision whose chance to be no is so many 256ths.
    #[inline(always)]
    pub(super) fn bool(&mut self, chance: impl Into<Chance>) -> bool {
        let (range, split) = self.split(chance.into());
        let limit = u64::from(split) << 56;
        // Two ways rather than one with choices in it: whoever asks branches
        // anyway, and the processor goes on along the way that it expects.
        if self.value >= limit {
            self.value -= limit;
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
    pub(super) fn bit(&mut self, chance: impl Into<Chance>) -> i32 {
        let (range, split) = self.split(chance.into());
        let limit = u64::from(split) << 56;
        let is_set = self.value >= limit;
        self.value -= limit & u64::from(is_set).wrapping_neg();
        self.range = if is_set { range - split } else { split };
        i32::from(is_set)
    }

    /// The number with the sign that is read, each as likely as the other.
    #[inline(always)]
    pub(super) fn signed(&mut self, number: i32) -> i32 {
        let sign = -self.bit(128_u8);
        (number ^ sign) - sign
    }

    /// The range widened to its eight bits, and where it is split.
    ///
    /// What comes next waits for this and for nothing else, so the product is
    /// taken before it is known how far the range must be widened.
    #[inline(always)]
    fn split(&mut self, Chance(chance): Chance) -> (u32, u32) {
        let lead = self.range.leading_zeros();
        let product = u64::from(self.range) * u64::from(chance & 255);
        let split = ((product << lead) + (u64::from(chance >> 8) << 24)) >> 32;
        let shift = lead & 7;
        self.value <<= shift;
        self.count -= shift as i32;
        if self.count < 0 {
            self.refill();
        }
        (self.range << shift, split as u32)
    }

    /// A decision without a preference.
    #[inline(always)]
    pub(super) fn flag(&mut self) -> bool {
        self.bool(128_u8)
    }

    /// A number of so many bits.
    pub(super) fn number(&mut self, bits: u32) -> u8 {
        (0..bits).fold(0, |number, _| number << 1 | u8::from(self.flag()))
    }

    /// A number with its sign behind it, if a flag says that there is one.
    pub(super) fn optional(&mut self, bits: u32) -> Option<i8> {
        self.flag().then(|| {
            let number = self.number(bits) as i8;
            if self.flag() { -number } else { number }
        })
    }

    /// Whether more was read than there is. A few bytes are read ahead.
    pub(super) fn is_exhausted(&self) -> bool {
        self.missing > 8
    }
}
