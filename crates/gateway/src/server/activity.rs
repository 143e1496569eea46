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
    /// A request began or ended since the last look.
    used: AtomicBool,
    /// A part of a head has arrived.
    in_head: AtomicBool,
    /// The server closes after the response that is being sent.
    last: AtomicBool,
    rejected: Mutex<Option<RejectedHead>>,
}

/// A running request; ends when its response is sent or its client disconnects.
#[derive(Debug)]
pub(super) struct ActiveRequest(Arc<ConnectionActivity>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
        self.0.used.store(true, Ordering::Relaxed);
        self.0.ended.store(true, Ordering::Release);
    }
}

impl ConnectionActivity {
    /// Marks a request as running.
    pub(super) fn begin_request(self: &Arc<Self>) -> ActiveRequest {
        self.running.fetch_add(1, Ordering::Relaxed);
        self.used.store(true, Ordering::Relaxed);
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

    /// Whether a request began or ended since the last call, or is running or arriving.
    pub(super) fn take_used(&self) -> bool {
        let used = self.used.swap(false, Ordering::Relaxed);
        used || !self.is_idle() || self.in_head.load(Ordering::Relaxed)
    }

    /// Notes whether a part of a head has arrived.
    pub(super) fn set_in_head(&self, in_head: bool) {
        self.in_head.store(in_head, Ordering::Relaxed);
    }

    /// Notes that the server closes after this response.
    pub(super) fn end_with_this(&self) {
        self.last.store(true, Ordering::Relaxed);
    }

    /// Whether the server decided to close after a response.
    pub(super) fn is_ending(&self) -> bool {
        self.last.load(Ordering::Relaxed)
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
