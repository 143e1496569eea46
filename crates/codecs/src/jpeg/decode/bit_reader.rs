//! Bits of an entropy-coded segment, with byte stuffing removed (ITU T.81, F.2.2.5).

use crate::jpeg::marker::{RST0, RST7};

/// Reads bits up to the next marker.
///
/// Inner loops work on a copy of their own, whose fields stay in registers.
#[derive(Clone, Copy)]
pub(super) struct BitReader<'a> {
    data: &'a [u8],
    at: usize,
    /// The next bits, most significant first.
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

    /// Makes at least 32 bits valid.
    #[inline(always)]
    pub(super) fn refill(&mut self) {
        if self.count >= 32 {
            return;
        }
        if let Some(next) = self.data.get(self.at..).and_then(|rest| rest.first_chunk()) {
            let next = u64::from_be_bytes(*next);
            // 0xFF carries when one is added.
            let ones = next & !next.wrapping_add(0x0101_0101_0101_0101) & 0x8080_8080_8080_8080;
            if ones == 0 {
                let bytes = (64 - self.count) / 8;
                self.buffer |= next >> self.count;
                self.at += bytes as usize;
                self.count += bytes * 8;
                return;
            }
        }
        *self = self.refilled_bytewise();
    }

    /// By value: a reader whose address is taken is kept in memory.
    #[cold]
    fn refilled_bytewise(mut self) -> Self {
        // Bits below `count` may be left over from a fast refill.
        self.buffer &= !(u64::MAX >> self.count);
        while self.count <= 56 {
            let byte = match self.data.get(self.at..) {
                Some([0xFF, 0x00, ..]) => {
                    self.at += 2;
                    0xFF
                }
                Some([0xFF, ..]) | Some([]) | None => {
                    self.padding += 8;
                    0
                }
                Some([byte, ..]) => {
                    self.at += 1;
                    *byte
                }
            };
            self.buffer |= u64::from(byte) << (56 - self.count);
            self.count += 8;
        }
        self
    }

    /// The next bits, without consuming them; call [`refill`](Self::refill) first.
    #[inline(always)]
    pub(super) fn peek(&self, count: u32) -> usize {
        (self.buffer >> (64 - count)) as usize
    }

    #[inline(always)]
    pub(super) fn consume(&mut self, count: u32) {
        self.buffer <<= count;
        self.count -= count;
    }

    /// RECEIVE and EXTEND (F.2.2.1): a signed value of `size` bits.
    #[inline(always)]
    pub(super) fn receive_extend(&mut self, size: u32) -> i32 {
        if size == 0 {
            return 0;
        }
        let value = self.peek(size) as i32;
        self.consume(size);
        if value < 1 << (size - 1) {
            value - (1 << size) + 1
        } else {
            value
        }
    }

    /// Whether more bits were consumed than exist.
    pub(super) fn is_exhausted(&self) -> bool {
        self.count < self.padding
    }

    /// Skips a restart marker; false if there is none.
    #[inline(always)]
    pub(super) fn restart(&mut self) -> bool {
        if self.is_exhausted() || self.count - self.padding > 7 {
            return false;
        }
        let Some([0xFF, RST0..=RST7, ..]) = self.data.get(self.at..) else {
            return false;
        };
        self.at += 2;
        (self.buffer, self.count, self.padding) = (0, 0, 0);
        true
    }

    /// The data from the next marker on.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.data.get(self.at..).unwrap_or_default()
    }
}
