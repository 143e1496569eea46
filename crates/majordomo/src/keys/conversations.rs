//! Remembers the key of each conversation, in bounded tables.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use majordomo_llm::Fingerprint;

use super::Conversation;

/// A conversation's key: its number, and what it is, since a new configuration may number the
/// keys differently.
pub(super) type UsedKey = (u8, Option<Fingerprint>);

/// Conversations of one provider in each of two generations: about a megabyte.
const GENERATION: usize = 1 << 13;

/// The tables of all providers with several keys, by name.
#[derive(Clone, Default)]
pub(crate) struct ConversationTables(Arc<Mutex<BTreeMap<String, Arc<ConversationTable>>>>);

impl ConversationTables {
    pub(super) fn of(&self, provider: &str) -> Arc<ConversationTable> {
        let mut tables = lock(&self.0);
        match tables.get(provider) {
            Some(table) => Arc::clone(table),
            None => Arc::clone(tables.entry(provider.to_owned()).or_default()),
        }
    }
}

/// The keys of one provider's conversations. The least recently used ones are evicted; a
/// conversation without an entry gets a key as a new one would.
#[derive(Default)]
pub(super) struct ConversationTable {
    generations: Mutex<Generations>,
    /// Requests that belong to no conversation.
    lone_requests: AtomicU64,
}

#[derive(Default)]
struct Generations {
    young: HashMap<Conversation, UsedKey>,
    old: HashMap<Conversation, UsedKey>,
}

impl ConversationTable {
    /// A new conversation for a request that belongs to none.
    pub(super) fn lone_request(&self) -> Conversation {
        let number = self.lone_requests.fetch_add(1, Ordering::Relaxed);
        Conversation(number.wrapping_mul(0xD134_2543_DE82_EF95))
    }

    pub(super) fn find(&self, conversation: Conversation) -> Option<UsedKey> {
        let mut generations = lock(&self.generations);
        if let Some(key) = generations.young.get(&conversation) {
            return Some(*key);
        }
        let key = generations.old.remove(&conversation)?;
        generations.keep(conversation, key);
        Some(key)
    }

    pub(super) fn set(&self, conversation: Conversation, key: UsedKey) {
        lock(&self.generations).keep(conversation, key);
    }
}

impl Generations {
    fn keep(&mut self, conversation: Conversation, key: UsedKey) {
        if self.young.len() >= GENERATION && !self.young.contains_key(&conversation) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(conversation, key);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_bounded_and_keeps_what_is_used() {
        let table = ConversationTable::default();
        let busy = Conversation(u64::MAX);
        table.set(busy, (3, None));
        for number in 0..GENERATION as u64 * 5 {
            table.set(Conversation(number), (1, None));
            assert_eq!(table.find(busy), Some((3, None)));
        }
        let generations = lock(&table.generations);
        assert!(generations.young.len() + generations.old.len() <= 2 * GENERATION);
    }
}
