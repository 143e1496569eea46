//! The kept requests, oldest first, and the count of their bytes.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Capture, CapturedRequest};

/// Requests within a limit. What is evicted is returned, to be freed outside the lock.
#[derive(Default)]
pub(super) struct CaptureRing {
    kept: VecDeque<Arc<CapturedRequest>>,
    /// Of all kept requests and reservations.
    bytes: usize,
    most: usize,
}

/// Room for a request that is being copied; given back if it is dropped.
pub(super) struct Reservation<'a> {
    capture: &'a Capture,
    bytes: usize,
}

impl<'a> Reservation<'a> {
    /// Evicts the oldest until there is room; `None` if there cannot be.
    pub(super) fn new(capture: &'a Capture, bytes: usize) -> Option<Self> {
        let (fits, evicted) = capture.ring().reserve(bytes);
        drop(evicted);
        // Made only if it fits: dropping one gives room back.
        fits.then(|| Self { capture, bytes })
    }

    /// Keeps the request, which weighs as much.
    pub(super) fn fill(mut self, request: Arc<CapturedRequest>) {
        let evicted = self.capture.ring().push(request);
        // The request has it now.
        self.bytes = 0;
        drop(evicted);
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.capture.ring().bytes -= self.bytes;
        }
    }
}

impl CaptureRing {
    pub(super) fn resize(&mut self, most: usize) -> Vec<Arc<CapturedRequest>> {
        self.most = most;
        self.shrink()
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<CapturedRequest>> {
        self.kept.iter().rev().find(|kept| &*kept.id == id).cloned()
    }

    /// Counts what a request is about to hold more, unless it was evicted.
    pub(super) fn charge(
        &mut self,
        request: &CapturedRequest,
        bytes: usize,
    ) -> Vec<Arc<CapturedRequest>> {
        // An evicted request is no longer counted, so nothing may be added to it.
        if request.is_evicted() {
            return Vec::new();
        }
        request.weigh(|weight| weight + bytes);
        self.bytes += bytes;
        self.shrink()
    }

    /// Counts what a request no longer holds, unless it was evicted.
    pub(super) fn release(&mut self, request: &CapturedRequest, bytes: usize) {
        if !request.is_evicted() {
            request.weigh(|weight| weight - bytes);
            self.bytes -= bytes;
        }
    }

    fn reserve(&mut self, bytes: usize) -> (bool, Vec<Arc<CapturedRequest>>) {
        if bytes > self.most {
            return (false, Vec::new());
        }
        self.bytes += bytes;
        let evicted = self.shrink();
        let fits = self.bytes <= self.most;
        if !fits {
            self.bytes -= bytes;
        }
        (fits, evicted)
    }

    fn push(&mut self, request: Arc<CapturedRequest>) -> Vec<Arc<CapturedRequest>> {
        self.kept.push_back(request);
        // The limit may have changed meanwhile.
        self.shrink()
    }

    /// Evicts the oldest beyond the limit.
    fn shrink(&mut self) -> Vec<Arc<CapturedRequest>> {
        let mut evicted = Vec::new();
        while self.bytes > self.most {
            let Some(oldest) = self.kept.pop_front() else {
                break;
            };
            self.bytes -= oldest.evict();
            evicted.push(oldest);
        }
        evicted
    }

    /// The bytes that are counted, and what the kept requests weigh.
    #[cfg(test)]
    pub(super) fn counted(&self) -> (usize, usize) {
        let weights = self.kept.iter().map(|kept| kept.weigh(|weight| weight));
        (self.bytes, weights.sum())
    }

    /// The kept requests.
    #[cfg(test)]
    pub(super) fn kept(&self) -> impl Iterator<Item = &Arc<CapturedRequest>> {
        self.kept.iter()
    }
}
