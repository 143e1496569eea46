//! Huffman coding with the typical tables of ITU T.81, Annex K.3.

use super::fdct::DctBlock;

/// A table as in a DHT segment: BITS and HUFFVAL.
pub(super) struct HuffmanSpec {
    pub(super) counts: [u8; 16],
    pub(super) symbols: &'static [u8],
}

pub(super) const DC_LUMA: HuffmanSpec = HuffmanSpec {
    counts: [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0],
    symbols: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
};

pub(super) const DC_CHROMA: HuffmanSpec = HuffmanSpec {
    counts: [0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0],
    symbols: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
};

pub(super) const AC_LUMA: HuffmanSpec = HuffmanSpec {
    counts: [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125],
    symbols: &[
        0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61,
        0x07, 0x22, 0x71, 0x14, 0x32, 0x81, 0x91, 0xA1, 0x08, 0x23, 0x42, 0xB1, 0xC1, 0x15, 0x52,
        0xD1, 0xF0, 0x24, 0x33, 0x62, 0x72, 0x82, 0x09, 0x0A, 0x16, 0x17, 0x18, 0x19, 0x1A, 0x25,
        0x26, 0x27, 0x28, 0x29, 0x2A, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3A, 0x43, 0x44, 0x45,
        0x46, 0x47, 0x48, 0x49, 0x4A, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5A, 0x63, 0x64,
        0x65, 0x66, 0x67, 0x68, 0x69, 0x6A, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7A, 0x83,
        0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99,
        0x9A, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9, 0xAA, 0xB2, 0xB3, 0xB4, 0xB5, 0xB6,
        0xB7, 0xB8, 0xB9, 0xBA, 0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xD2, 0xD3,
        0xD4, 0xD5, 0xD6, 0xD7, 0xD8, 0xD9, 0xDA, 0xE1, 0xE2, 0xE3, 0xE4, 0xE5, 0xE6, 0xE7, 0xE8,
        0xE9, 0xEA, 0xF1, 0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0xFA,
    ],
};

pub(super) const AC_CHROMA: HuffmanSpec = HuffmanSpec {
    counts: [0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 119],
    symbols: &[
        0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61,
        0x71, 0x13, 0x22, 0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xA1, 0xB1, 0xC1, 0x09, 0x23, 0x33,
        0x52, 0xF0, 0x15, 0x62, 0x72, 0xD1, 0x0A, 0x16, 0x24, 0x34, 0xE1, 0x25, 0xF1, 0x17, 0x18,
        0x19, 0x1A, 0x26, 0x27, 0x28, 0x29, 0x2A, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3A, 0x43, 0x44,
        0x45, 0x46, 0x47, 0x48, 0x49, 0x4A, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5A, 0x63,
        0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6A, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7A,
        0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97,
        0x98, 0x99, 0x9A, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9, 0xAA, 0xB2, 0xB3, 0xB4,
        0xB5, 0xB6, 0xB7, 0xB8, 0xB9, 0xBA, 0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA,
        0xD2, 0xD3, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8, 0xD9, 0xDA, 0xE2, 0xE3, 0xE4, 0xE5, 0xE6, 0xE7,
        0xE8, 0xE9, 0xEA, 0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0xFA,
    ],
};

/// End of block.
const EOB: usize = 0x00;
/// A run of 16 zeros.
const ZRL: usize = 0xF0;

/// A symbol's code, shifted to make room for the value bits, and the length of both.
#[derive(Clone, Copy, Default)]
struct HuffmanCode {
    bits: u32,
    length: u32,
}

/// The codes of luma or of chroma.
pub(super) struct HuffmanCodes {
    dc: [HuffmanCode; 256],
    ac: [HuffmanCode; 256],
}

impl HuffmanCodes {
    pub(super) fn new(dc: &HuffmanSpec, ac: &HuffmanSpec) -> Self {
        Self {
            dc: codes(dc),
            ac: codes(ac),
        }
    }
}

fn codes(table: &HuffmanSpec) -> [HuffmanCode; 256] {
    let mut codes = [HuffmanCode::default(); 256];
    let mut symbols = table.symbols.iter();
    let mut next = 0;
    for (length, count) in (1..).zip(table.counts) {
        for symbol in symbols.by_ref().take(usize::from(count)) {
            let value = u32::from(symbol & 15);
            codes[usize::from(*symbol)] = HuffmanCode {
                bits: next << value,
                length: length + value,
            };
            next += 1;
        }
        next <<= 1;
    }
    codes
}

/// Writes the entropy-coded segment.
#[derive(Default)]
pub(super) struct BitWriter {
    pub(super) bytes: Vec<u8>,
    buffer: u64,
    count: u32,
}

impl BitWriter {
    /// Writes one block. Unless `more`, all AC coefficients are zero. `dc_predictor` is the
    /// DC coefficient of the component's previous block.
    #[inline(always)]
    pub(super) fn write_block(
        &mut self,
        block: &DctBlock,
        more: bool,
        dc_predictor: &mut i16,
        codes: &HuffmanCodes,
    ) {
        let difference = i32::from(block[0]) - i32::from(*dc_predictor);
        *dc_predictor = block[0];
        self.write_value(0, difference, &codes.dc);
        let mut left = if more { nonzero_ac(block) } else { 0 };
        let mut done = 0;
        while left != 0 {
            let at = left.trailing_zeros();
            let mut zeros = at - done - 1;
            while zeros > 15 {
                self.put(codes.ac[ZRL]);
                zeros -= 16;
            }
            let value = i32::from(block[at as usize & 63]);
            self.write_value(zeros as usize * 16, value, &codes.ac);
            done = at;
            left &= left - 1;
        }
        if done < 63 {
            self.put(codes.ac[EOB]);
        }
    }

    /// Writes the code for a run of zeros and a value's size, then the value (F.1.2).
    #[inline(always)]
    fn write_value(&mut self, zeros: usize, value: i32, codes: &[HuffmanCode; 256]) {
        let sign = value >> 31;
        let size = 32 - ((value ^ sign) - sign).leading_zeros();
        let code = codes[(zeros + size as usize) & 255];
        // Negative values are written as their value minus one, in the low bits.
        let bits = (value + sign) as u32 & ((1 << size) - 1);
        self.put(HuffmanCode {
            bits: code.bits | bits,
            ..code
        });
    }

    #[inline(always)]
    fn put(&mut self, code: HuffmanCode) {
        self.buffer = self.buffer << code.length | u64::from(code.bits);
        self.count += code.length;
        if self.count >= 32 {
            self.count -= 32;
            self.write_word((self.buffer >> self.count) as u32);
        }
    }

    #[inline(always)]
    fn write_word(&mut self, word: u32) {
        // 0xFF carries when one is added.
        if word & !word.wrapping_add(0x0101_0101) & 0x8080_8080 == 0 {
            self.bytes.extend_from_slice(&word.to_be_bytes());
        } else {
            self.write_stuffed(&word.to_be_bytes());
        }
    }

    /// Writes bytes with a zero stuffed after each 0xFF (F.1.2.3).
    fn write_stuffed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.bytes.push(*byte);
            if *byte == 0xFF {
                self.bytes.push(0);
            }
        }
    }

    /// Pads the last byte with ones.
    pub(super) fn finish(&mut self) {
        let missing = self.count.wrapping_neg() % 8;
        let count = self.count + missing;
        let buffer = self.buffer << missing | ((1 << missing) - 1);
        let bytes = (buffer << (64 - count).min(63)).to_be_bytes();
        self.write_stuffed(&bytes[..count as usize / 8]);
        (self.buffer, self.count) = (0, 0);
    }
}

/// A bit mask of the nonzero AC coefficients.
#[inline(always)]
fn nonzero_ac(block: &DctBlock) -> u64 {
    let mut flags = [0_u8; 64];
    for (flag, value) in flags.iter_mut().zip(block) {
        *flag = u8::from(*value != 0);
    }
    let mut bits = 0;
    for (at, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
        // Gathers eight bytes of one bit each in the top byte.
        let gathered = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits |= gathered << (at * 8);
    }
    bits & !1
}
