//! Hashes of keys.

use sha2::{Digest, Sha256};

pub(crate) type Hash = [u8; 32];

pub(crate) fn sha256(text: &str) -> Hash {
    Sha256::digest(text.as_bytes()).into()
}

/// The hash prefix used for lookup.
pub(super) fn prefix(hash: &Hash) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *hash;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// Writes 64 hexadecimal digits.
pub(super) fn hex(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads 64 hexadecimal digits.
pub(crate) fn unhex(digits: &str) -> Option<Hash> {
    let digits = digits.as_bytes();
    let mut bytes = [0; 32];
    if digits.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let value = |digit: u8| char::from(digit).to_digit(16);
        let number = value(pair[0])? * 16 + value(pair[1])?;
        *byte = u8::try_from(number).ok()?;
    }
    Some(bytes)
}
