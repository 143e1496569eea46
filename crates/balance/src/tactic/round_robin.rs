//! `round_robin`: smooth weighted round robin, by stride scheduling.
//!
//! A service of weight w has its k-th turn at the virtual time (k − ½) / w; the earliest
//! turn is next (Waldspurger and Weihl, "Stride Scheduling", MIT TM-528, 1995). Turns of
//! a heavy service are spread evenly between those of the light ones, and a selection
//! writes one word instead of all.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Choose, Selection, ServiceIndex};
use crate::Service;

/// How often a selection is retried because a concurrent one took the same turn.
const MAX_RETRIES: usize = 8;

#[derive(Debug)]
pub(super) struct RoundRobin {
    /// Each service's next turn, as the bits of an `f64`; for positive numbers, bits and
    /// values have the same order.
    turns: Box<[AtomicU64]>,
    /// The last turn taken. A service that was unusable resumes here and does not catch up
    /// on missed turns.
    time: AtomicU64,
}

impl RoundRobin {
    pub(super) fn new(services: &[Service]) -> Self {
        let first = |service: &Service| (0.5 / f64::from(service.weight)).to_bits();
        Self {
            turns: services.iter().map(first).map(AtomicU64::new).collect(),
            time: AtomicU64::new(0),
        }
    }

    /// The earliest turn: its service, its time, and the word it was read from.
    fn next(&self, selection: &Selection<'_>) -> (ServiceIndex, f64, u64) {
        let time = f64::from_bits(self.time.load(Ordering::Relaxed));
        let mut next = (selection.candidates[0], f64::INFINITY, 0);
        for index in selection.candidates.iter().copied() {
            let word = self.turns[index.get()].load(Ordering::Relaxed);
            let turn = f64::from_bits(word).max(time);
            if turn < next.1 {
                next = (index, turn, word);
            }
        }
        next
    }
}

impl Choose for RoundRobin {
    fn choose(&self, selection: &Selection<'_>) -> ServiceIndex {
        let (mut chosen, mut turn, mut word) = self.next(selection);
        if !selection.binding {
            return chosen;
        }
        for _ in 0..MAX_RETRIES {
            let after = turn + 1.0 / f64::from(selection.service(chosen).weight);
            let taken = self.turns[chosen.get()].compare_exchange(
                word,
                after.to_bits(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            if taken.is_ok() {
                break;
            }
            (chosen, turn, word) = self.next(selection);
        }
        self.time.fetch_max(turn.to_bits(), Ordering::Relaxed);
        chosen
    }
}
