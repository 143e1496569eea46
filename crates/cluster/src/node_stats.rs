//! Counters of a node, for metrics.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The activity of a node.
#[derive(Debug, Default)]
pub struct NodeStats {
    exchanges: AtomicU64,
    round_trips: AtomicU64,
    failed: AtomicU64,
}

impl NodeStats {
    pub(crate) fn exchanged(&self, limits: usize) {
        self.exchanges.fetch_add(limits as u64, Relaxed);
        self.round_trips.fetch_add(1, Relaxed);
    }

    pub(crate) fn failed(&self) {
        self.failed.fetch_add(1, Relaxed);
    }

    /// Exchanges about limits.
    pub fn exchanges(&self) -> u64 {
        self.exchanges.load(Relaxed)
    }

    /// Round trips of these exchanges.
    pub fn round_trips(&self) -> u64 {
        self.round_trips.load(Relaxed)
    }

    /// Failed or late calls.
    pub fn failures(&self) -> u64 {
        self.failed.load(Relaxed)
    }
}
