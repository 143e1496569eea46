//! A stable digest of a model, by which Ollama's clients compare entries of a list.

/// A 64-digit digest of the model's name, in place of its file's.
///
/// Four FNV-1a hashes with different seeds: an identifier, not a safeguard.
pub(super) fn of_name(name: &str) -> String {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    let hash = |seed: u64| {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        name.bytes().fold(OFFSET ^ seed.wrapping_mul(PRIME), step)
    };
    (0..4).map(|seed| format!("{:016x}", hash(seed))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_has_64_digits_and_belongs_to_one_name() {
        let (a, b) = (of_name("a/x"), of_name("a/y"));
        assert_ne!(a, b);
        for digest in [a, b, of_name("")] {
            assert_eq!(digest.len(), 64);
            assert!(digest.bytes().all(|digit| digit.is_ascii_hexdigit()));
        }
    }
}
