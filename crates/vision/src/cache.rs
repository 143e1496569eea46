//! The cache of descriptions, addressed by content.
//!
//! Bounded in bytes and in time. The client's key is part of the cache key, so no client
//! reads descriptions of another client's images.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use majordomo::Clock;
use quick_cache::sync::Cache;
use quick_cache::{OptionsBuilder, Weighter};

/// Digest of an image, its prompt, its describers and the client's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Address([u8; 32]);

impl Address {
    /// As a field of another key.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The digest of these fields; their boundaries count.
    pub(super) fn of(fields: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for field in fields {
            hasher.update(&(field.len() as u64).to_le_bytes());
            hasher.update(field);
        }
        Self(*hasher.finalize().as_bytes())
    }
}

/// More bytes than this are hashed off the async threads.
const MUCH: usize = 1 << 20;

/// The digests of contents.
pub(super) async fn addresses(contents: Vec<Bytes>) -> Vec<Address> {
    let all = |contents: Vec<Bytes>| contents.iter().map(|c| Address::of(&[c])).collect();
    if contents.iter().map(Bytes::len).sum::<usize>() <= MUCH {
        return all(contents);
    }
    let again = contents.clone();
    let hashed = tokio::task::spawn_blocking(move || all(contents)).await;
    // A runtime that shuts down accepts no work; hash here instead.
    hashed.unwrap_or_else(|_| all(again))
}

/// A description, ready to replace its image.
pub(super) type Description = Arc<str>;

#[derive(Clone)]
struct Entry {
    description: Description,
    /// `None` if the expiry is not representable.
    until: Option<Instant>,
    /// Inline bytes never change, so each use extends the lifetime. The content at a URL
    /// may change.
    lasting: bool,
}

pub(super) struct Memory {
    entries: Cache<Address, Entry, Size>,
    ttl: Duration,
    clock: Arc<dyn Clock>,
}

impl Memory {
    pub(super) fn new(bytes: u64, ttl: Duration, clock: Arc<dyn Clock>) -> Self {
        let options = OptionsBuilder::new()
            .estimated_items_capacity(1_024)
            .weight_capacity(bytes)
            .shards(1)
            .build()
            .expect("all three options are given");
        Self {
            entries: Cache::with_options(options, Size, Default::default(), Default::default()),
            ttl,
            clock,
        }
    }

    pub(super) fn get(&self, address: &Address) -> Option<Description> {
        let entry = self.entries.get(address)?;
        if entry.until.is_some_and(|until| self.clock.now() >= until) {
            self.entries.remove(address);
            return None;
        }
        let description = Arc::clone(&entry.description);
        if entry.lasting {
            self.put(*address, Arc::clone(&description), true);
        }
        Some(description)
    }

    pub(super) fn put(&self, address: Address, description: Description, lasting: bool) {
        let entry = Entry {
            description,
            until: self.clock.now().checked_add(self.ttl),
            lasting,
        };
        self.entries.insert(address, entry);
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        self.entries.weight()
    }
}

/// Approximate cost of an entry besides its text.
const OVERHEAD: u64 = 160;

#[derive(Clone)]
struct Size;

impl Weighter<Address, Entry> for Size {
    fn weight(&self, _: &Address, entry: &Entry) -> u64 {
        OVERHEAD + entry.description.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use majordomo::ManualClock;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn address(n: usize) -> Address {
        Address::of(&[&n.to_le_bytes()])
    }

    fn memory(bytes: u64) -> (Memory, ManualClock) {
        let clock = ManualClock::new();
        let memory = Memory::new(bytes, 10 * MINUTE, Arc::new(clock.clone()));
        (memory, clock)
    }

    #[test]
    fn a_description_lasts_for_its_time_after_the_last_use() {
        let (memory, clock) = memory(1 << 20);
        memory.put(address(1), "a".into(), true);
        clock.advance(9 * MINUTE);
        assert_eq!(memory.get(&address(1)).as_deref(), Some("a"));
        clock.advance(9 * MINUTE);
        assert_eq!(memory.get(&address(1)).as_deref(), Some("a"));
        clock.advance(10 * MINUTE);
        assert_eq!(memory.get(&address(1)), None);
    }

    #[test]
    fn what_is_at_a_web_address_lasts_for_its_time_however_often_it_is_used() {
        let (memory, clock) = memory(1 << 20);
        memory.put(address(1), "a".into(), false);
        clock.advance(9 * MINUTE);
        assert!(memory.get(&address(1)).is_some());
        clock.advance(MINUTE);
        assert_eq!(memory.get(&address(1)), None);
    }

    #[test]
    fn the_memory_stays_within_its_bytes() {
        let (memory, _) = memory(64 << 10);
        for n in 0..1_000 {
            memory.put(address(n), "x".repeat(1_000).into(), true);
            assert!(memory.bytes() <= 64 << 10);
        }
        assert!(memory.get(&address(999)).is_some(), "the last one is kept");
        let kept = (0..1_000).filter(|n| memory.get(&address(*n)).is_some());
        assert!(kept.count() > 40);
    }

    #[test]
    fn no_bytes_keep_nothing() {
        let (memory, _) = memory(0);
        memory.put(address(1), "a".into(), true);
        assert_eq!(memory.get(&address(1)), None);
    }

    #[test]
    fn fields_cannot_be_shifted_into_each_other() {
        assert_ne!(Address::of(&[b"ab", b"c"]), Address::of(&[b"a", b"bc"]));
        assert_ne!(Address::of(&[b"ab"]), Address::of(&[b"ab", b""]));
    }
}
