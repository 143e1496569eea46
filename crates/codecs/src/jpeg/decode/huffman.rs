//! Huffman decoding by table lookup (ITU T.81, Annex C and F.2.2.3).

use super::bit_reader::BitReader;

/// Codes of at most this many bits take one lookup.
const LOOKUP_BITS: u32 = 10;
const ENTRIES: usize = 1 << LOOKUP_BITS;

/// A Huffman table, prepared for decoding.
#[derive(Clone)]
pub(super) struct HuffmanTable {
    /// By the next bits: symbol and code length; length 0 for longer codes.
    lookup: Box<[(u8, u8); ENTRIES]>,
    /// By the next bits: a complete AC coefficient, if code and value fit.
    coefficients: Box<[DecodedCoefficient; ENTRIES]>,
    /// By length: one past its last code, aligned to 16 bits.
    limits: [u32; 17],
    /// By length: the offset from a code to its symbol.
    offsets: [i32; 17],
    symbols: Vec<u8>,
}

/// An AC coefficient decoded in one lookup.
#[derive(Clone, Copy, Default)]
pub(super) struct DecodedCoefficient {
    pub(super) value: i16,
    pub(super) run: u8,
    /// Code and value bits; zero if not in the table.
    pub(super) bits: u8,
}

impl HuffmanTable {
    /// Builds a table from the BITS and HUFFVAL lists of a DHT segment.
    pub(super) fn new(counts: &[u8; 16], symbols: &[u8]) -> Option<Self> {
        let total: usize = counts.iter().map(|count| usize::from(*count)).sum();
        if total > 256 || symbols.len() < total {
            return None;
        }
        let mut table = Self {
            lookup: Box::new([(0, 0); ENTRIES]),
            coefficients: Box::new([DecodedCoefficient::default(); ENTRIES]),
            limits: [0; 17],
            offsets: [0; 17],
            symbols: symbols[..total].to_vec(),
        };
        let (mut code, mut first) = (0_u32, 0_usize);
        for length in 1..=16_u32 {
            let count = usize::from(counts[length as usize - 1]);
            table.offsets[length as usize] = first as i32 - code as i32;
            for symbol in &symbols[first..first + count] {
                if code >= 1 << length {
                    return None;
                }
                if length <= LOOKUP_BITS {
                    let from = (code << (LOOKUP_BITS - length)) as usize;
                    let entries = 1 << (LOOKUP_BITS - length);
                    table.lookup[from..from + entries].fill((*symbol, length as u8));
                }
                code += 1;
            }
            table.limits[length as usize] = code << (16 - length);
            first += count;
            code <<= 1;
        }
        table.fill_coefficients();
        Some(table)
    }

    fn fill_coefficients(&mut self) {
        for (bits, coefficient) in self.coefficients.iter_mut().enumerate() {
            let (symbol, length) = self.lookup[bits];
            let (run, size) = (symbol >> 4, u32::from(symbol & 15));
            let used = u32::from(length) + size;
            if length == 0 || size == 0 || used > LOOKUP_BITS {
                continue;
            }
            let value = (bits as i32 >> (LOOKUP_BITS - used)) & ((1 << size) - 1);
            let value = if value < 1 << (size - 1) {
                value - (1 << size) + 1
            } else {
                value
            };
            *coefficient = DecodedCoefficient {
                value: value as i16,
                run,
                bits: used as u8,
            };
        }
    }

    /// The next coefficient, if it is in the table.
    #[inline(always)]
    pub(super) fn peek_coefficient(&self, bits: &BitReader<'_>) -> DecodedCoefficient {
        self.coefficients[bits.peek(LOOKUP_BITS)]
    }

    /// DECODE (F.2.2.3): the next symbol; `None` for an invalid code.
    #[inline(always)]
    pub(super) fn decode(&self, bits: &mut BitReader<'_>) -> Option<u8> {
        let (symbol, length) = self.lookup[bits.peek(LOOKUP_BITS)];
        if length > 0 {
            bits.consume(u32::from(length));
            return Some(symbol);
        }
        let next = bits.peek(16) as u32;
        let length = (LOOKUP_BITS + 1..=16).find(|length| next < self.limits[*length as usize])?;
        let code = next >> (16 - length);
        bits.consume(length);
        let at = code as i32 + self.offsets[length as usize];
        self.symbols.get(usize::try_from(at).ok()?).copied()
    }
}
