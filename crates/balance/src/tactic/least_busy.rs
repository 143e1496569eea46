//! `least_busy`: weighted least outstanding requests ("least connections").
//!
//! Ties go to the least recently picked service, so that services of equal latency
//! never differ by more than one request in flight.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Choose, Selection, ServiceIndex};

#[derive(Debug)]
pub(super) struct LeastBusy {
    /// The number of each service's last turn.
    turns: Box<[AtomicU64]>,
    taken: AtomicU64,
}

impl LeastBusy {
    pub(super) fn new(services: usize) -> Self {
        Self {
            turns: (0..services).map(|_| AtomicU64::new(0)).collect(),
            taken: AtomicU64::new(0),
        }
    }
}

impl Choose for LeastBusy {
    fn choose(&self, selection: &Selection<'_>) -> ServiceIndex {
        let mut best = (f64::INFINITY, u64::MAX);
        let mut chosen = selection.candidates[0];
        for (index, service) in selection.iter() {
            let turn = self.turns[index.get()].load(Ordering::Relaxed);
            let rank = (service.load(), turn);
            if rank < best {
                (best, chosen) = (rank, index);
            }
        }
        if selection.binding {
            let turn = self.taken.fetch_add(1, Ordering::Relaxed) + 1;
            self.turns[chosen.get()].store(turn, Ordering::Relaxed);
        }
        chosen
    }
}
