//! Finds where a run of unescaped bytes ends, in strings that are read or written.
//!
//! Most bytes of a request pass through here, so one pass looks for quotes, backslashes
//! and control characters together. Short runs are examined eight bytes at a time, long
//! ones in blocks that compile to vector instructions.

const BLOCK: usize = 64;
const WORD: usize = size_of::<u64>();

/// The index of the first byte at or after `at` that a string cannot contain unescaped, or
/// the length of `bytes`.
#[inline]
pub(super) fn run_end(bytes: &[u8], at: usize) -> usize {
    // Most keys and runs between escapes are shorter than a word.
    if let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let hits = special_bytes(u64::from_le_bytes(*word));
        if hits != 0 {
            return at + hits.trailing_zeros() as usize / 8;
        }
    }
    long_run_end(bytes, at)
}

#[inline(never)]
fn long_run_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let (near, far) = rest.split_at(rest.len().min(BLOCK));
    if let Some(found) = first_special(near) {
        return at + found;
    }
    let (blocks, tail) = far.as_chunks::<BLOCK>();
    let hit = blocks.iter().position(has_special);
    let clean = hit.unwrap_or(blocks.len());
    let last = blocks.get(clean).map_or(tail, |block| block.as_slice());
    let found = first_special(last).unwrap_or(last.len());
    at + near.len() + clean * BLOCK + found
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Without an early exit, so that it compiles to vector instructions: the smallest of three
/// differences is zero if one of the bytes is special.
fn has_special(block: &[u8; BLOCK]) -> bool {
    let least = block.iter().fold(u8::MAX, |least, byte| {
        least
            .min(byte ^ b'"')
            .min(byte ^ b'\\')
            .min(byte.saturating_sub(0x1f))
    });
    least == 0
}

/// The index of the first special byte.
fn first_special(bytes: &[u8]) -> Option<usize> {
    let (words, tail) = bytes.as_chunks::<WORD>();
    for (index, word) in words.iter().enumerate() {
        let hits = special_bytes(u64::from_le_bytes(*word));
        if hits != 0 {
            return Some(index * WORD + hits.trailing_zeros() as usize / 8);
        }
    }
    let found = tail.iter().position(|byte| is_special(*byte))?;
    Some(words.len() * WORD + found)
}

/// The high bit of every special byte. A borrow can mark bytes above a special one, so only
/// the lowest bit is exact.
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([0x01; WORD]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; WORD]);
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word & HIGH;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    below(word, 0x20) | equal(b'"') | equal(b'\\')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_byte_is_classified_at_every_position() {
        for byte in 0..=u8::MAX {
            for position in 0..200 {
                let mut bytes = vec![b'\x80'; 200];
                bytes[position] = byte;
                let expected = if is_special(byte) { position } else { 200 };
                assert_eq!(run_end(&bytes, 0), expected, "{byte} at {position}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_end_is_the_first_special_byte(bytes: Vec<u8>, at in 0usize..40) {
            let rest = bytes.get(at..).unwrap_or_default();
            let found = rest.iter().position(|byte| is_special(*byte));
            let expected = at + found.unwrap_or(rest.len());
            prop_assert_eq!(run_end(&bytes, at), expected);
        }
    }
}
