//! Finds where a run of unescaped bytes ends, in strings that are read or written.
//!
//! Most bytes of a request pass through here. Short runs are examined eight bytes at a time;
//! longer ones are searched for a quote or backslash first, then for control characters, both
//! with vector instructions.

use memchr::memchr2;

const LANE: usize = 16;
/// Bytes that are searched at once.
const WINDOW: usize = 256;
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
    let mut end = at;
    // In windows: a text with a line end every few words must not be searched to its last byte
    // for each of them.
    for window in rest.chunks(WINDOW) {
        let stop = memchr2(b'"', b'\\', window);
        let run = &window[..stop.unwrap_or(window.len())];
        if has_control(run)
            && let Some(control) = run.iter().position(|byte| *byte < 0x20)
        {
            return end + control;
        }
        end += run.len();
        if stop.is_some() {
            break;
        }
    }
    end
}

/// Whether any byte is a control character. Without an early exit, so that it compiles to vector
/// instructions: the smallest byte of each column decides.
fn has_control(run: &[u8]) -> bool {
    let mut least = [u8::MAX; LANE];
    let mut add = |lane: &[u8; LANE]| {
        for (least, byte) in least.iter_mut().zip(lane) {
            *least = (*least).min(*byte);
        }
    };
    let (lanes, tail) = run.as_chunks();
    lanes.iter().for_each(&mut add);
    match run.last_chunk() {
        // Overlaps the lane before it.
        Some(last) => add(last),
        None => return tail.iter().any(|byte| *byte < 0x20),
    }
    least.into_iter().fold(u8::MAX, u8::min) < 0x20
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

    fn is_special(byte: u8) -> bool {
        byte < 0x20 || byte == b'"' || byte == b'\\'
    }

    #[test]
    fn every_byte_is_classified_at_every_position() {
        for byte in 0..=u8::MAX {
            for position in 0..600 {
                let mut bytes = vec![b'\x80'; 600];
                bytes[position] = byte;
                let expected = if is_special(byte) { position } else { 600 };
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
