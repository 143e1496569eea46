//! Bits, the least significant of each byte first (section 3.1).

/// Collects bits into bytes.
#[derive(Default)]
pub(super) struct BitWriter {
    pub(super) bytes: Vec<u8>,
    buffer: u64,
    /// Bits in the buffer, at most 31 between two calls.
    count: u32,
}

impl BitWriter {
    /// Appends the lowest `count` bits, at most 32; the others must be zero.
    #[inline(always)]
    pub(super) fn put(&mut self, bits: u32, count: u32) {
        self.buffer |= u64::from(bits) << self.count;
        self.count += count;
        if self.count >= 32 {
            self.bytes
                .extend_from_slice(&(self.buffer as u32).to_le_bytes());
            self.buffer >>= 32;
            self.count -= 32;
        }
    }

    /// All bits so far.
    pub(super) fn bits(&self) -> u64 {
        self.bytes.len() as u64 * 8 + u64::from(self.count)
    }

    /// Fills the last byte with zeros.
    pub(super) fn finish(&mut self) {
        let bytes = self.count.div_ceil(8) as usize;
        self.bytes
            .extend_from_slice(&self.buffer.to_le_bytes()[..bytes]);
        (self.buffer, self.count) = (0, 0);
    }
}
