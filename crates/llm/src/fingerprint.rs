//! Detects that a provider's address or credential has changed.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::LazyLock;

/// A keyed hash of a provider's address and credential.
///
/// The key is random per process: fingerprints can be compared within a process and
/// reveal nothing outside it.
///
/// ```
/// use majordomo_llm::Fingerprint;
///
/// let before = Fingerprint::of(("https://api.example", "key"));
/// assert_eq!(before, Fingerprint::of(("https://api.example", "key")));
/// assert_ne!(before, Fingerprint::of(("https://api.example", "another key")));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Computes the fingerprint of an identity: address, credential and kind.
    pub fn of(identity: impl Hash) -> Self {
        static KEYED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        Self(KEYED.hash_one(identity))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint")
    }
}
