//! The bounded queue between requests and the writer's thread.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::rows::LedgerEntry;

/// The number of entries that ends a gathering early.
const BATCH: usize = 2_048;

#[derive(Default)]
struct QueueState {
    entries: VecDeque<LedgerEntry>,
    /// The number of entries ever pushed, and of those that the writer has processed.
    pushed: u64,
    handled: u64,
    flushing: usize,
    closed: bool,
}

/// A queue of entries.
pub(super) struct EntryQueue {
    state: Mutex<QueueState>,
    capacity: usize,
    /// Signals the writer.
    filled: Condvar,
    /// Signals those who flush.
    handled: Condvar,
}

/// The result of waiting for entries.
pub(super) struct Gathered {
    pub(super) entries: VecDeque<LedgerEntry>,
    pub(super) closed: bool,
}

impl EntryQueue {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            state: Mutex::default(),
            capacity,
            filled: Condvar::new(),
            handled: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // A poisoned queue is still consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends an entry, unless the queue is full or closed.
    pub(super) fn push(&self, entry: LedgerEntry) -> bool {
        let mut state = self.lock();
        if state.closed || state.entries.len() >= self.capacity {
            return false;
        }
        state.entries.push_back(entry);
        state.pushed += 1;
        // The writer wakes for the first entry and for a full batch, not for each.
        let wake = state.entries.len() == 1 || state.entries.len() == BATCH;
        drop(state);
        if wake {
            self.filled.notify_one();
        }
        true
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
    }

    /// Waits up to `idle` for a first entry and then up to `commit` for more, and takes all.
    pub(super) fn gather(&self, idle: Duration, commit: Duration) -> Gathered {
        let quiet = |state: &mut QueueState| {
            state.entries.is_empty() && !state.closed && state.flushing == 0
        };
        let waited = self.filled.wait_timeout_while(self.lock(), idle, quiet);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if !state.entries.is_empty() {
            let gathering = |state: &mut QueueState| {
                state.entries.len() < BATCH && !state.closed && state.flushing == 0
            };
            let waited = self.filled.wait_timeout_while(state, commit, gathering);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        Gathered {
            entries: std::mem::take(&mut state.entries),
            closed: state.closed,
        }
    }

    /// Reports entries as processed.
    pub(super) fn mark_handled(&self, count: usize) {
        let mut state = self.lock();
        state.handled += count as u64;
        drop(state);
        self.handled.notify_all();
    }

    pub(super) fn flush(&self, timeout: Duration) -> bool {
        let mut state = self.lock();
        let target = state.pushed;
        state.flushing += 1;
        self.filled.notify_one();
        let pending = |state: &mut QueueState| state.handled < target;
        let waited = self.handled.wait_timeout_while(state, timeout, pending);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.flushing -= 1;
        state.handled >= target
    }
}
