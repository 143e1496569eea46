//! Counts of the writer, readable from any thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The state of the entries.
#[derive(Default)]
pub struct LedgerStatus {
    written: AtomicU64,
    spooled: AtomicU64,
    dropped: AtomicU64,
    lost: AtomicU64,
    waiting: AtomicU64,
    unavailable: AtomicBool,
}

/// A moment of [`LedgerStatus`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusSnapshot {
    /// Entries written to the store.
    pub written: u64,
    /// Entries that went to the spool's file.
    pub spooled: u64,
    /// Entries that were dropped.
    pub dropped: u64,
    /// Attempts that an earlier process left open.
    pub lost: u64,
    /// Entries that wait for the store.
    pub waiting: u64,
    /// Whether the store can be written.
    pub available: bool,
}

impl LedgerStatus {
    pub(super) fn add_written(&self, count: usize) {
        self.written.fetch_add(count as u64, Relaxed);
    }

    pub(super) fn add_spooled(&self, count: usize) {
        self.spooled.fetch_add(count as u64, Relaxed);
    }

    pub(super) fn add_dropped(&self, count: u64) {
        self.dropped.fetch_add(count, Relaxed);
    }

    pub(super) fn add_lost(&self, count: u64) {
        self.lost.fetch_add(count, Relaxed);
    }

    pub(super) fn set_waiting(&self, count: usize) {
        self.waiting.store(count as u64, Relaxed);
    }

    /// Returns whether that is news.
    pub(super) fn set_available(&self, available: bool) -> bool {
        self.unavailable.swap(!available, Relaxed) == available
    }

    /// The counts now.
    pub fn snapshot(&self) -> StatusSnapshot {
        StatusSnapshot {
            written: self.written.load(Relaxed),
            spooled: self.spooled.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            lost: self.lost.load(Relaxed),
            waiting: self.waiting.load(Relaxed),
            available: !self.unavailable.load(Relaxed),
        }
    }
}
