//! A 64-bit window onto a compressed partition.

/// The window; past the end of the data it reads zeros.
#[derive(Clone, Copy)]
pub(super) struct BitWindow<'a> {
    /// Bytes not yet in the window.
    data: &'a [u8],
    /// Zero bytes appended past the end.
    missing: usize,
    /// The next bits, most significant first. Bits beyond `count` may already hold data:
    /// they are ORed in again unchanged by the next fill.
    pub(super) bits: u64,
    /// Valid bits.
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

    /// Appends as many whole bytes as fit, so that at least 56 bits are valid.
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

    /// Whether more bits were consumed than exist. The boolean decoder reads a few bytes
    /// ahead.
    pub(super) fn is_exhausted(&self) -> bool {
        self.missing * 8 > self.count as usize + 64
    }
}
