//! The next bits of packed data, in one word.

/// Behind the end of the data there are zeros.
#[derive(Clone, Copy)]
pub(super) struct BitWindow<'a> {
    /// What is not in the word yet.
    data: &'a [u8],
    /// How many bytes were taken behind its end.
    missing: usize,
    /// The next bits, from the top. Those that are not counted yet may be there
    /// already: they come again and change nothing.
    pub(super) bits: u64,
    /// How many of them count.
    pub(super) count: u32,
}

impl<'a> BitWindow<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self {
            data,
            missing: 0,
            bits: 0,
            count: 0,
        }
    }

    /// Takes in all whole bytes that there is room for, so that there are at
    /// least 56 bits.
    #[inline(always)]
    pub(super) fn fill(&mut self) {
        let Some(next) = self.data.first_chunk() else {
            return self.fill_slowly();
        };
        self.bits |= u64::from_be_bytes(*next) >> self.count;
        let bytes = (63 - self.count) / 8;
        self.data = &self.data[bytes as usize..];
        self.count += bytes * 8;
    }

    #[cold]
    fn fill_slowly(&mut self) {
        while self.count < 56 {
            if let Some((next, rest)) = self.data.split_first() {
                self.bits |= u64::from(*next) << (56 - self.count);
                self.data = rest;
            } else {
                self.missing += 1;
            }
            self.count += 8;
        }
    }

    #[inline(always)]
    pub(super) fn skip(&mut self, bits: u32) {
        self.bits <<= bits;
        self.count -= bits;
    }

    /// Whether more was used than there is. Arithmetic decoding looks a few
    /// bytes ahead.
    pub(super) fn is_exhausted(&self) -> bool {
        self.missing * 8 > self.count as usize + 64
    }
}
