//! Chooses a key. Pure: the state of the keys is an argument.
//!
//! A conversation keeps its key while that key is usable. Otherwise a key is chosen by
//! weighted rendezvous hashing: each key has a score for each conversation, and the usable key
//! with the best score wins. The weight is the remaining share of the key's quota, so that new
//! conversations go to keys with quota left.

use std::time::Duration;

use super::{Conversation, MAX_KEYS};

/// The minimum weight of a key, so that one with little quota left is still used.
const LEAST_WEIGHT: f64 = 0.05;

/// The state of a key before a request is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum KeyState {
    /// Usable, with this share of its quota left, from 0 to 1.
    Usable(f64),
    /// Its quota is used up, by the provider's own count. A request may still fit, so the key
    /// is used if no other one can be.
    UsedUp {
        /// The time until the quota is renewed; the key with the shortest comes first.
        resets_in: Duration,
    },
    /// Rejected, or paused.
    Resting,
}

/// The keys with which a request has already been sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TriedKeys(u64);

impl TriedKeys {
    pub(crate) fn add(&mut self, key: usize) {
        self.0 |= 1 << (key % MAX_KEYS);
    }

    pub(super) fn contains(self, key: usize) -> bool {
        self.0 & (1 << (key % MAX_KEYS)) != 0
    }
}

/// The key for a request of a conversation that uses the key `current`; `None` if every usable
/// key has been tried.
pub(super) fn choose(
    conversation: Conversation,
    current: Option<usize>,
    keys: &[KeyState],
    tried: TriedKeys,
) -> Option<usize> {
    let usable = |(number, state): (usize, &KeyState)| match state {
        KeyState::Usable(share) if !tried.contains(number) => Some((number, *share)),
        _ => None,
    };
    let usable = keys.iter().enumerate().filter_map(usable);
    if let Some(current) = current
        && usable.clone().any(|(number, _)| number == current)
    {
        return Some(current);
    }
    let score = |(number, share): (usize, f64)| {
        let weight = share.max(LEAST_WEIGHT);
        (number, weight / -unit(conversation, number).ln())
    };
    let best = usable
        .map(score)
        .max_by(|(_, one), (_, other)| one.total_cmp(other));
    if let Some((number, _)) = best {
        return Some(number);
    }
    let used_up = |(number, state): (usize, &KeyState)| match state {
        KeyState::UsedUp { resets_in } if !tried.contains(number) => Some((*resets_in, number)),
        _ => None,
    };
    let first = keys.iter().enumerate().filter_map(used_up).min();
    first.map(|(_, number)| number)
}

/// A number between 0 and 1, both excluded, for each conversation and key (SplitMix64).
fn unit(conversation: Conversation, key: usize) -> f64 {
    let mut z = conversation
        .0
        .wrapping_add((key as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    ((z >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: KeyState = KeyState::Usable(1.0);
    const NONE: TriedKeys = TriedKeys(0);

    fn used_up(seconds: u64) -> KeyState {
        let resets_in = Duration::from_secs(seconds);
        KeyState::UsedUp { resets_in }
    }

    #[test]
    fn each_state_has_its_place() {
        let resting = KeyState::Resting;
        let mut tried = TriedKeys::default();
        tried.add(1);
        type Row<'a> = (Option<usize>, &'a [KeyState], TriedKeys, Option<usize>);
        let rows: [Row<'_>; 8] = [
            (Some(1), &[FULL, FULL], NONE, Some(1)),
            (Some(1), &[FULL, FULL], tried, Some(0)),
            (Some(1), &[FULL, resting], NONE, Some(0)),
            (Some(1), &[FULL, used_up(9)], NONE, Some(0)),
            (Some(1), &[resting, used_up(9)], NONE, Some(1)),
            (Some(0), &[used_up(9), used_up(5)], NONE, Some(1)),
            (None, &[used_up(9), used_up(5)], tried, Some(0)),
            (None, &[resting, resting], NONE, None),
        ];
        for (current, keys, tried, expected) in rows {
            let chosen = choose(Conversation(7), current, keys, tried);
            assert_eq!(chosen, expected, "{current:?} {keys:?}");
        }
    }

    #[test]
    fn new_conversations_are_shared_by_what_is_left_of_the_quotas() {
        let keys = [FULL, KeyState::Usable(0.5), KeyState::Usable(0.0)];
        let mut counts = [0u32; 3];
        for number in 0..20_000u64 {
            let conversation = Conversation(number.wrapping_mul(0xD134_2543_DE82_EF95));
            let chosen = choose(conversation, None, &keys, NONE).expect("all are usable");
            counts[chosen] += 1;
        }
        let share = |key: usize| f64::from(counts[key]) / 20_000.0;
        for (key, expected) in [(0, 1.0 / 1.55), (1, 0.5 / 1.55), (2, 0.05 / 1.55)] {
            assert!((share(key) - expected).abs() < 0.02, "{counts:?}");
        }
    }
}
