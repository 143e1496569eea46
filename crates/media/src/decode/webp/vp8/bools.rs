//! Yes or no, each with a chance that is known beforehand: arithmetic decoding.

/// Reads decisions from packed data. Behind its end there are zeros.
#[derive(Clone, Copy)]
pub(super) struct Bools<'a> {
    data: &'a [u8],
    at: usize,
    /// The next bits, from the top.
    value: u64,
    /// How many of them are there beyond the eight that are compared.
    count: i32,
    range: u32,
}

impl<'a> Bools<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self {
            data,
            at: 0,
            value: 0,
            count: -8,
            range: 255,
        }
    }

    #[inline(always)]
    fn refill(&mut self) {
        // Fewer than eight are left.
        let left = (self.count + 8) as u32;
        if let Some(next) = self.data.get(self.at..).and_then(|rest| rest.first_chunk()) {
            self.value |= u64::from_be_bytes(*next) >> 8 << (8 - left);
            self.at += 7;
            self.count += 56;
        } else {
            let next = self.data.get(self.at).copied().unwrap_or(0);
            self.value |= u64::from(next) << (56 - left);
            self.at += 1;
            self.count += 8;
        }
    }

    /// One decision whose chance to be no is so many 256ths.
    #[inline(always)]
    pub(super) fn bool(&mut self, chance: u8) -> bool {
        if self.count < 0 {
            self.refill();
        }
        let split = 1 + (((self.range - 1) * u32::from(chance)) >> 8);
        let limit = u64::from(split) << 56;
        // Two ways rather than one with choices in it: whoever asks branches
        // anyway, and the processor goes on along the way that it expects.
        if self.value >= limit {
            self.value -= limit;
            self.narrow(self.range - split);
            true
        } else {
            self.narrow(split);
            false
        }
    }

    #[inline(always)]
    fn narrow(&mut self, range: u32) {
        let shift = range.leading_zeros() - 24;
        self.range = range << shift;
        self.value <<= shift;
        self.count -= shift as i32;
    }

    /// A decision without a preference.
    #[inline(always)]
    pub(super) fn flag(&mut self) -> bool {
        self.bool(128)
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
        self.at > self.data.len() + 8
    }
}
