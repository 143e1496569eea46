//! Tokens of the last minute: a sliding-window counter of ten-second slots.

use std::sync::atomic::{AtomicU64, Ordering};

/// Slots per minute.
const SLOTS: usize = 6;
const SLOT: u64 = 10_000_000;
/// The lower bits of a slot count tokens; the upper ones identify its ten seconds.
const COUNT_BITS: u32 = 40;
const MAX_COUNT: u64 = (1 << COUNT_BITS) - 1;

/// A ring of slots; each word carries its own time, so none needs clearing.
#[derive(Debug, Default)]
pub(super) struct TokenWindow([AtomicU64; SLOTS]);

impl TokenWindow {
    pub(super) fn add(&self, tokens: u64, moment: u64) {
        let slot = slot_of(moment);
        let place = &self.0[slot as usize % SLOTS];
        let mut word = place.load(Ordering::Relaxed);
        loop {
            let before = if word >> COUNT_BITS == slot {
                word & MAX_COUNT
            } else {
                0
            };
            let count = before.saturating_add(tokens).min(MAX_COUNT);
            let next = slot << COUNT_BITS | count;
            let swap =
                place.compare_exchange_weak(word, next, Ordering::Relaxed, Ordering::Relaxed);
            match swap {
                Ok(_) => return,
                Err(newer) => word = newer,
            }
        }
    }

    pub(super) fn sum(&self, moment: u64) -> u64 {
        let newest = slot_of(moment);
        let oldest = (newest + 1).saturating_sub(SLOTS as u64);
        let words = self.0.iter().map(|place| place.load(Ordering::Relaxed));
        words
            .filter(|word| (oldest..=newest).contains(&(word >> COUNT_BITS)))
            .map(|word| word & MAX_COUNT)
            .sum()
    }
}

/// The number of the ten-second slot, from 1 on, so that an empty word is no slot.
fn slot_of(moment: u64) -> u64 {
    (moment / SLOT + 1) & (u64::MAX >> COUNT_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    #[test]
    fn tokens_expire_in_steps_of_ten_seconds() {
        let window = TokenWindow::default();
        assert_eq!(window.sum(0), 0);
        window.add(100, 0);
        window.add(20, 9 * SECOND);
        window.add(3, 30 * SECOND);
        assert_eq!(window.sum(30 * SECOND), 123);
        assert_eq!(window.sum(59 * SECOND), 123);
        assert_eq!(window.sum(60 * SECOND), 3);
        assert_eq!(window.sum(90 * SECOND), 0);
    }

    #[test]
    fn an_old_slot_is_reused_by_the_next_minute() {
        let window = TokenWindow::default();
        window.add(100, 0);
        window.add(7, 61 * SECOND);
        assert_eq!(window.sum(61 * SECOND), 7);
    }

    #[test]
    fn a_slot_never_overflows() {
        let window = TokenWindow::default();
        window.add(u64::MAX, 0);
        window.add(u64::MAX, 0);
        assert_eq!(window.sum(0), MAX_COUNT);
    }
}
