//! State shared by a connection's socket and its requests.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::head::RejectedHead;

/// Tracks running requests and a rejected head. In HTTP/1 there is one request at a
/// time.
#[derive(Debug, Default)]
pub(super) struct ConnectionActivity {
    ended: AtomicBool,
    running: AtomicUsize,
    rejected: Mutex<Option<RejectedHead>>,
}

/// A running request; ends when its response is sent or its client disconnects.
#[derive(Debug)]
pub(super) struct ActiveRequest(Arc<ConnectionActivity>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
        self.0.ended.store(true, Ordering::Release);
    }
}

impl ConnectionActivity {
    /// Marks a request as running.
    pub(super) fn begin_request(self: &Arc<Self>) -> ActiveRequest {
        self.running.fetch_add(1, Ordering::Relaxed);
        ActiveRequest(Arc::clone(self))
    }

    /// Whether a response has been sent since the last call.
    pub(super) fn take_completed(&self) -> bool {
        self.ended.swap(false, Ordering::Acquire)
    }

    /// Whether no request is running.
    pub(super) fn is_idle(&self) -> bool {
        self.running.load(Ordering::Relaxed) == 0
    }

    /// Rejects the next head.
    pub(super) fn reject_next(&self, rejected: RejectedHead) {
        *self.rejected.lock().unwrap_or_else(PoisonError::into_inner) = Some(rejected);
    }

    /// Takes the rejection of this head, if any.
    pub(super) fn take_rejection(&self) -> Option<RejectedHead> {
        let mut rejected = self.rejected.lock().unwrap_or_else(PoisonError::into_inner);
        rejected.take()
    }
}
