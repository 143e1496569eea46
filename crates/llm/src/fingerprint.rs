//! Tells whether a provider is still asked at the same address with the same key.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::LazyLock;

/// A keyed hash of an address and a credential. The key is random for each process,
/// so it can be compared here and says nothing anywhere else.
///
/// ```
/// use majordomo_llm::Fingerprint;
///
/// let before = Fingerprint::of(("https://api.example", "key"));
/// assert_eq!(before, Fingerprint::of(("https://api.example", "key")));
/// assert_ne!(before, Fingerprint::of(("https://api.example", "another key")));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint of everything that decides whom a provider asks, and as whom.
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
