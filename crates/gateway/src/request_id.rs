//! Random ids for requests and responses.

/// A unique id with 120 random bits.
pub(crate) fn new_id() -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let random = u128::from(fastrand::u64(..)) << 64 | u128::from(fastrand::u64(..));
    (0..24)
        .map(|n| char::from(LETTERS[(random >> (n * 5)) as usize & 31]))
        .collect()
}
