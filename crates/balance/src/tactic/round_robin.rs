//! Smooth weighted round robin.
//!
//! A service of weight w has its k-th turn at the virtual time (k − ½) / w; the
//! earliest turn is next. Turns of a heavy service are spread evenly between
//! those of the light ones, and a choice writes one word, not all.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Choose, Round, ServiceIndex};
use crate::Service;

/// How often a choice starts again because another one took the same turn.
const PATIENCE: usize = 8;

#[derive(Debug)]
pub(super) struct RoundRobin {
    /// When each service's next turn is, as the bits of an `f64`; those of positive
    /// numbers have the order of the numbers.
    turns: Box<[AtomicU64]>,
    /// The last turn that was taken. Who was away comes back here, not to all
    /// the turns that it missed.
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

    /// The earliest turn: whose, when, and the word it was read from.
    fn next(&self, round: &Round<'_>) -> (ServiceIndex, f64, u64) {
        let time = f64::from_bits(self.time.load(Ordering::Relaxed));
        let mut next = (round.candidates[0], f64::INFINITY, 0);
        for index in round.candidates.iter().copied() {
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
    fn choose(&self, round: &Round<'_>) -> ServiceIndex {
        let (mut chosen, mut turn, mut word) = self.next(round);
        if !round.binding {
            return chosen;
        }
        for _ in 0..PATIENCE {
            let after = turn + 1.0 / f64::from(round.service(chosen).weight);
            let taken = self.turns[chosen.get()].compare_exchange(
                word,
                after.to_bits(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            if taken.is_ok() {
                break;
            }
            (chosen, turn, word) = self.next(round);
        }
        self.time.fetch_max(turn.to_bits(), Ordering::Relaxed);
        chosen
    }
}
