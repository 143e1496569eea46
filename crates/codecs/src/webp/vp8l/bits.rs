//! Bits, the least significant of each byte first (section 3.1).

use crate::CodecError;
use crate::webp::decode::DAMAGED;

pub(super) struct BitReader<'a> {
    data: &'a [u8],
    at: usize,
    buffer: u64,
    /// Valid bits, including padding.
    count: u32,
    /// Zero bits appended past the end.
    padding: u32,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self {
            data,
            at: 0,
            buffer: 0,
            count: 0,
            padding: 0,
        }
    }

    /// Makes at least 56 bits valid.
    #[inline(always)]
    pub(super) fn refill(&mut self) {
        if self.count >= 56 {
            return;
        }
        if let Some(next) = self.data.get(self.at..).and_then(|rest| rest.first_chunk()) {
            self.buffer |= u64::from_le_bytes(*next) << self.count;
            let bytes = (63 - self.count) / 8;
            self.at += bytes as usize;
            self.count += bytes * 8;
            return;
        }
        self.refill_bytewise();
    }

    #[cold]
    fn refill_bytewise(&mut self) {
        // Bits above `count` may be left over from a fast refill.
        self.buffer &= (1 << self.count) - 1;
        while self.count < 56 {
            let byte = match self.data.get(self.at) {
                Some(byte) => {
                    self.at += 1;
                    *byte
                }
                None => {
                    self.padding += 8;
                    0
                }
            };
            self.buffer |= u64::from(byte) << self.count;
            self.count += 8;
        }
    }

    /// The next bits; call [`refill`](Self::refill) first.
    #[inline(always)]
    pub(super) fn peek(&self) -> u64 {
        self.buffer
    }

    #[inline(always)]
    pub(super) fn consume(&mut self, count: u32) {
        self.buffer >>= count;
        self.count -= count;
    }

    /// The value of this many bits, at most 24.
    #[inline(always)]
    pub(super) fn read(&mut self, count: u32) -> u32 {
        self.refill();
        let value = (self.buffer & ((1 << count) - 1)) as u32;
        self.consume(count);
        value
    }

    /// An error if more bits were consumed than exist.
    pub(super) fn check(&self) -> Result<(), CodecError> {
        if self.count < self.padding {
            Err(DAMAGED)
        } else {
            Ok(())
        }
    }
}
