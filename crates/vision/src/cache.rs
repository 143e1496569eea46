//! The cache of descriptions, addressed by content.
//!
//! Bounded in bytes and in time. The client's key is part of the cache key, so no client
//! reads descriptions of another client's images.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use majordomo::clock::Clock;
use quick_cache::sync::Cache;
use quick_cache::{OptionsBuilder, Weighter};

/// Digest of an image, its prompt, its describers and the client's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CacheKey([u8; 32]);

impl CacheKey {
    /// As a field of another key.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// As text, for caches elsewhere.
    pub(super) fn hex(&self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }

    /// The digest of these fields, including their boundaries.
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
const OFFLOAD_BYTES: usize = 1 << 20;

/// The digests of contents.
pub(super) async fn keys(contents: Vec<Bytes>) -> Vec<CacheKey> {
    let all = |contents: Vec<Bytes>| contents.iter().map(|c| CacheKey::of(&[c])).collect();
    if contents.iter().map(Bytes::len).sum::<usize>() <= OFFLOAD_BYTES {
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
struct CacheEntry {
    description: Description,
    /// `None` if the expiry is not representable.
    until: Option<Instant>,
    /// Inline bytes never change, so each use extends the lifetime. The content at a URL
    /// may change.
    lasting: bool,
}

pub(super) struct DescriptionCache {
    entries: Cache<CacheKey, CacheEntry, DescriptionWeigher>,
    ttl: Duration,
    clock: Arc<dyn Clock>,
}

impl DescriptionCache {
    pub(super) fn new(bytes: u64, ttl: Duration, clock: Arc<dyn Clock>) -> Self {
        let options = OptionsBuilder::new()
            .estimated_items_capacity(1_024)
            .weight_capacity(bytes)
            .shards(1)
            .build()
            .expect("all three options are given");
        Self {
            entries: Cache::with_options(
                options,
                DescriptionWeigher,
                Default::default(),
                Default::default(),
            ),
            ttl,
            clock,
        }
    }

    pub(super) fn get(&self, key: &CacheKey) -> Option<Description> {
        let entry = self.entries.get(key)?;
        if entry.until.is_some_and(|until| self.clock.now() >= until) {
            self.entries.remove(key);
            return None;
        }
        let description = Arc::clone(&entry.description);
        if entry.lasting {
            self.put(*key, Arc::clone(&description), true);
        }
        Some(description)
    }

    pub(super) fn put(&self, key: CacheKey, description: Description, lasting: bool) {
        let entry = CacheEntry {
            description,
            until: self.clock.now().checked_add(self.ttl),
            lasting,
        };
        self.entries.insert(key, entry);
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        self.entries.weight()
    }
}

/// Approximate cost of an entry besides its text.
const OVERHEAD: u64 = 160;

#[derive(Clone)]
struct DescriptionWeigher;

impl Weighter<CacheKey, CacheEntry> for DescriptionWeigher {
    fn weight(&self, _: &CacheKey, entry: &CacheEntry) -> u64 {
        OVERHEAD + entry.description.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use majordomo::clock::ManualClock;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn key(n: usize) -> CacheKey {
        CacheKey::of(&[&n.to_le_bytes()])
    }

    fn cache(bytes: u64) -> (DescriptionCache, ManualClock) {
        let clock = ManualClock::new();
        let cache = DescriptionCache::new(bytes, 10 * MINUTE, Arc::new(clock.clone()));
        (cache, clock)
    }

    #[test]
    fn a_description_expires_after_its_last_use() {
        let (cache, clock) = cache(1 << 20);
        cache.put(key(1), "a".into(), true);
        clock.advance(9 * MINUTE);
        assert_eq!(cache.get(&key(1)).as_deref(), Some("a"));
        clock.advance(9 * MINUTE);
        assert_eq!(cache.get(&key(1)).as_deref(), Some("a"));
        clock.advance(10 * MINUTE);
        assert_eq!(cache.get(&key(1)), None);
    }

    #[test]
    fn the_description_of_a_url_is_not_extended_by_use() {
        let (cache, clock) = cache(1 << 20);
        cache.put(key(1), "a".into(), false);
        clock.advance(9 * MINUTE);
        assert!(cache.get(&key(1)).is_some());
        clock.advance(MINUTE);
        assert_eq!(cache.get(&key(1)), None);
    }

    #[test]
    fn the_cache_stays_within_its_bytes() {
        let (cache, _) = cache(64 << 10);
        for n in 0..1_000 {
            cache.put(key(n), "x".repeat(1_000).into(), true);
            assert!(cache.bytes() <= 64 << 10);
        }
        assert!(cache.get(&key(999)).is_some(), "the last one is kept");
        let kept = (0..1_000).filter(|n| cache.get(&key(*n)).is_some());
        assert!(kept.count() > 40);
    }

    #[test]
    fn a_cache_of_zero_bytes_keeps_nothing() {
        let (cache, _) = cache(0);
        cache.put(key(1), "a".into(), true);
        assert_eq!(cache.get(&key(1)), None);
    }

    #[test]
    fn field_boundaries_count() {
        assert_ne!(CacheKey::of(&[b"ab", b"c"]), CacheKey::of(&[b"a", b"bc"]));
        assert_ne!(CacheKey::of(&[b"ab"]), CacheKey::of(&[b"ab", b""]));
    }
}
