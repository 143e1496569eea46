//! Prefix codes (section 3.7.2), decoded by tables of two levels.

use super::bits::BitReader;
use crate::memory::Buffer;
use crate::webp::decode::DAMAGED;
use crate::{CodecError, Job};

/// Bits of the first level.
const ROOT_BITS: u32 = 8;
const MAX_LENGTH: usize = 15;
/// The largest alphabet: green with lengths and a colour cache.
pub(super) const MAX_ALPHABET: usize = 256 + 24 + (1 << 11);
/// The order in which the lengths of the code length code are stored.
const LENGTH_ORDER: [usize; 19] = [
    17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
];

/// The tables of all codes of an image.
pub(super) struct CodeTables {
    /// The code length in the upper half, the symbol in the lower; in the first level, a
    /// length above [`ROOT_BITS`] leads to a table of the second, whose distance from here
    /// is the lower half.
    entries: Buffer<u32>,
}

/// One code, as the start of its table.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PrefixCode {
    table: u32,
    /// Bits of the first level; zero for a single symbol.
    bits: u32,
}

impl PrefixCode {
    /// Whether the code has one symbol, which takes no bits.
    pub(super) fn is_trivial(self) -> bool {
        self.bits == 0
    }
}

impl CodeTables {
    pub(super) fn new(job: &Job) -> Result<Self, CodecError> {
        Ok(Self {
            entries: job.memory.with_room(1 << ROOT_BITS)?,
        })
    }

    /// The next symbol; at least 15 bits must be valid.
    #[inline(always)]
    pub(super) fn decode(&self, code: PrefixCode, bits: &mut BitReader<'_>) -> usize {
        let next = bits.peek();
        let first = code.table as usize + (next & ((1 << code.bits) - 1)) as usize;
        let mut entry = self.entries[first];
        if entry >> 16 > ROOT_BITS {
            let second = (entry >> 16) - ROOT_BITS;
            let at = (next >> ROOT_BITS & ((1 << second) - 1)) as usize;
            entry = self.entries[first + (entry & 0xFFFF) as usize + at];
        }
        bits.consume(entry >> 16);
        (entry & 0xFFFF) as usize
    }

    /// Reads the description of a code.
    pub(super) fn read(
        &mut self,
        bits: &mut BitReader<'_>,
        alphabet: usize,
    ) -> Result<PrefixCode, CodecError> {
        let mut lengths = [0; MAX_ALPHABET];
        let lengths = &mut lengths[..alphabet];
        if bits.read(1) == 1 {
            let symbols = bits.read(1) + 1;
            let first_bits = if bits.read(1) == 1 { 8 } else { 1 };
            *lengths
                .get_mut(bits.read(first_bits) as usize)
                .ok_or(DAMAGED)? = 1;
            if symbols == 2 {
                *lengths.get_mut(bits.read(8) as usize).ok_or(DAMAGED)? = 1;
            }
        } else {
            self.read_lengths(bits, lengths)?;
        }
        bits.check()?;
        self.add(lengths)
    }

    fn read_lengths(
        &mut self,
        bits: &mut BitReader<'_>,
        lengths: &mut [u8],
    ) -> Result<(), CodecError> {
        let mut code_lengths = [0; 19];
        let count = 4 + bits.read(4) as usize;
        for place in &LENGTH_ORDER[..count] {
            code_lengths[*place] = bits.read(3) as u8;
        }
        let mut left = lengths.len();
        if bits.read(1) == 1 {
            let width = 2 + 2 * bits.read(3);
            left = 2 + bits.read(width) as usize;
            if left > lengths.len() {
                return Err(DAMAGED);
            }
        }
        // Its table is needed only here.
        let end = self.entries.len();
        let code = self.add(&code_lengths)?;
        let mut previous = 8;
        let mut at = 0;
        while at < lengths.len() && left > 0 {
            left -= 1;
            bits.refill();
            let symbol = self.decode(code, bits);
            let (value, repeat) = match symbol {
                16 => (previous, 3 + bits.read(2) as usize),
                17 => (0, 3 + bits.read(3) as usize),
                18 => (0, 11 + bits.read(7) as usize),
                length => (length as u8, 1),
            };
            let run = lengths.get_mut(at..at + repeat).ok_or(DAMAGED)?;
            run.fill(value);
            if value > 0 {
                previous = value;
            }
            at += repeat;
        }
        self.entries.truncate(end);
        Ok(())
    }

    /// Adds the table of a canonical code.
    fn add(&mut self, lengths: &[u8]) -> Result<PrefixCode, CodecError> {
        let mut counts = [0_u32; MAX_LENGTH + 1];
        for length in lengths {
            counts[usize::from(*length)] += 1;
        }
        counts[0] = 0;
        let table = self.entries.len() as u32;
        let used: u32 = counts.iter().sum();
        if used == 1 {
            let symbol = lengths.iter().position(|length| *length > 0);
            self.entries.append(&[symbol.unwrap_or(0) as u32])?;
            return Ok(PrefixCode { table, bits: 0 });
        }
        // Every sequence of bits must be a code.
        let space: u32 = (1..=MAX_LENGTH)
            .map(|length| counts[length] << (MAX_LENGTH - length))
            .sum();
        if space != 1 << MAX_LENGTH {
            return Err(DAMAGED);
        }
        let longest = counts.iter().rposition(|count| *count > 0).unwrap_or(1) as u32;
        let bits = longest.min(ROOT_BITS);
        let mut codes = [0_u32; MAX_LENGTH + 2];
        for length in 1..=MAX_LENGTH {
            codes[length + 1] = (codes[length] + counts[length]) << 1;
        }
        // By first-level entry: the longest code that starts there.
        let mut deepest = [0_u32; 1 << ROOT_BITS];
        let mut next = codes;
        for length in lengths.iter().filter(|length| **length > 0) {
            let reversed = take_code(&mut next, *length);
            let root = (reversed & ((1 << bits) - 1)) as usize;
            deepest[root] = deepest[root].max(u32::from(*length));
        }
        let first = self.entries.len();
        for _ in 0..1 << bits {
            self.entries.append(&[0])?;
        }
        for (root, deepest) in deepest.into_iter().enumerate() {
            if deepest > bits {
                let distance = (self.entries.len() - first - root) as u32;
                self.entries[first + root] = deepest << 16 | distance;
                for _ in 0..1 << (deepest - bits) {
                    self.entries.append(&[0])?;
                }
            }
        }
        let mut next = codes;
        for (symbol, length) in lengths.iter().enumerate().filter(|(_, l)| **l > 0) {
            let reversed = take_code(&mut next, *length) as usize;
            let length = u32::from(*length);
            let entry = length << 16 | symbol as u32;
            let root = reversed & ((1 << bits) - 1);
            let (start, skipped, size) = match length > bits {
                true => {
                    let link = self.entries[first + root];
                    let start = first + root + (link & 0xFFFF) as usize;
                    (start, bits, (link >> 16) - bits)
                }
                false => (first, 0, bits),
            };
            let step = 1 << (length - skipped);
            for at in ((reversed >> skipped)..1 << size).step_by(step) {
                self.entries[start + at] = entry;
            }
        }
        Ok(PrefixCode { table, bits })
    }
}

/// The next canonical code of a length, its bits in the order of the stream.
fn take_code(next: &mut [u32; MAX_LENGTH + 2], length: u8) -> u32 {
    let code = &mut next[usize::from(length)];
    let reversed = code.reverse_bits() >> (32 - u32::from(length));
    *code += 1;
    reversed
}
