//! What a connection's socket and its requests tell each other.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::head::Refused;

/// One request at a time (in HTTP/1): whose head was wrong, and whether its
/// answer is out.
#[derive(Debug, Default)]
pub(super) struct Turn {
    ended: AtomicBool,
    running: AtomicUsize,
    refused: Mutex<Option<Refused>>,
}

/// A request that runs, until its answer is out or its client has left.
#[derive(Debug)]
pub(super) struct Begun(Arc<Turn>);

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
        self.0.ended.store(true, Ordering::Release);
    }
}

impl Turn {
    /// A request begins.
    pub(super) fn begin(self: &Arc<Self>) -> Begun {
        self.running.fetch_add(1, Ordering::Relaxed);
        Begun(Arc::clone(self))
    }

    /// Whether an answer went out since this was asked last.
    pub(super) fn take_end(&self) -> bool {
        self.ended.swap(false, Ordering::Acquire)
    }

    /// Whether nothing is being answered.
    pub(super) fn is_idle(&self) -> bool {
        self.running.load(Ordering::Relaxed) == 0
    }

    /// The head that comes next must not be served.
    pub(super) fn refuse(&self, refused: Refused) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(refused);
    }

    /// Why this head must not be served.
    pub(super) fn refused(&self) -> Option<Refused> {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.take()
    }
}
