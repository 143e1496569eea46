//! Several keys of one provider, and the choice of one for each request.
//!
//! A target of such a provider has a [`KeyRing`] with one model per key. `choice` chooses, as
//! a pure function; `conversations` remembers the key of each conversation, since a prompt is
//! cached for the account of the key that sent it; `ring` knows the keys' health and admits
//! requests. A chain with a single key has no ring. May use `clock` and `health`.

mod choice;
mod conversations;
mod ring;

use std::hash::{DefaultHasher, Hash, Hasher};

use majordomo_llm::Prompt;

pub(crate) use choice::TriedKeys;
pub(crate) use conversations::ConversationTables;
pub(crate) use ring::{KeyPermit, KeyRing, RingRefusal};

/// Maximum keys of one provider.
pub(crate) const MAX_KEYS: usize = majordomo_providers::MAX_KEYS;

/// Bytes at each end of a text that identify a conversation: enough to tell them apart.
const IDENTIFYING_BYTES: usize = 4_096;

/// A conversation, identified by the beginning of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Conversation(u64);

impl Conversation {
    /// The conversation of a prompt: its names, its system prompt and its first message, which
    /// stay the same from turn to turn. `None` without messages.
    pub(crate) fn of(prompt: &Prompt) -> Option<Self> {
        let first = prompt.messages.first()?;
        // The hash is not randomly keyed, so several gateways agree on the key of a
        // conversation.
        let mut hasher = DefaultHasher::new();
        // Agents begin all conversations in a folder with the same texts, and name each.
        (&prompt.cache_key, &prompt.user).hash(&mut hasher);
        for text in &prompt.system {
            beginning(&text.text).hash(&mut hasher);
        }
        let text = first.text();
        (beginning(&text), end(&text)).hash(&mut hasher);
        Some(Self(hasher.finish()))
    }
}

fn beginning(text: &str) -> &[u8] {
    &text.as_bytes()[..text.len().min(IDENTIFYING_BYTES)]
}

/// Agents put the same files before what the user wrote.
fn end(text: &str) -> &[u8] {
    &text.as_bytes()[text.len().saturating_sub(IDENTIFYING_BYTES)..]
}

#[cfg(test)]
mod tests;
