//! One captured request.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use majordomo_vision::UsedDescriptions;

use super::LONGEST_RESPONSE;

/// Smallest growth of a response.
const SMALLEST_GROWTH: usize = 1 << 10;

/// What a request is found by, and where it was sent.
pub(crate) struct SentRequest {
    pub(crate) id: Arc<str>,
    /// The name of the key that sent it.
    pub(crate) key: Arc<str>,
    /// The path with its query, without a key.
    pub(crate) path: String,
}

/// A request as the client sent it, and what it received.
pub(crate) struct CapturedRequest {
    pub(crate) id: Arc<str>,
    /// The name of the key that sent it.
    pub(crate) key: Arc<str>,
    /// The path with its query, without a key.
    pub(crate) path: String,
    pub(crate) body: Bytes,
    response: Mutex<CapturedResponse>,
    used: OnceLock<UsedDescriptions>,
    /// What it counts for; changed only while the ring is locked, like `evicted`.
    weight: AtomicUsize,
    evicted: AtomicBool,
}

/// What a client received, so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct CapturedResponse {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) bytes: Vec<u8>,
    /// Whether more followed.
    pub(crate) cut: bool,
}

impl CapturedRequest {
    pub(super) fn new(sent: SentRequest, body: Bytes, weight: usize) -> Self {
        Self {
            id: sent.id,
            key: sent.key,
            path: sent.path,
            body,
            response: Mutex::default(),
            used: OnceLock::new(),
            weight: AtomicUsize::new(weight),
            evicted: AtomicBool::new(false),
        }
    }

    /// What the client received, so far.
    pub(crate) fn received(&self) -> CapturedResponse {
        self.response().clone()
    }

    /// The descriptions by which its images were replaced.
    pub(crate) fn used_descriptions(&self) -> Option<&UsedDescriptions> {
        self.used.get()
    }

    /// Notes the head of the response.
    pub(super) fn begin(&self, status: u16, content_type: &str) {
        let mut response = self.response();
        response.status = status;
        content_type.clone_into(&mut response.content_type);
    }

    pub(super) fn describe(&self, used: UsedDescriptions) {
        // A request is over once.
        let _ = self.used.set(used);
    }

    /// By how much the response's buffer must grow to take so many more bytes.
    pub(super) fn growth(&self, more: usize) -> usize {
        let response = self.response();
        let length = response.bytes.len();
        let needed = (length + more).min(LONGEST_RESPONSE);
        let capacity = response.bytes.capacity();
        if needed <= capacity {
            return 0;
        }
        // By a quarter, so that many chunks are few copies.
        let grown = needed.max(capacity + (capacity / 4).max(SMALLEST_GROWTH));
        grown.min(LONGEST_RESPONSE) - capacity
    }

    /// Appends as much as fits, after this growth.
    pub(super) fn append(&self, chunk: &[u8], growth: usize) {
        let mut response = self.response();
        let spare = response.bytes.capacity() - response.bytes.len();
        response.bytes.reserve_exact(spare + growth);
        let room = LONGEST_RESPONSE.saturating_sub(response.bytes.len());
        let taken = chunk.len().min(room);
        response.cut |= taken < chunk.len();
        response.bytes.extend_from_slice(&chunk[..taken]);
    }

    /// Gives back what the response's buffer does not need, and says how much.
    pub(super) fn trim(&self) -> usize {
        let mut response = self.response();
        let before = response.bytes.capacity();
        response.bytes.shrink_to_fit();
        before - response.bytes.capacity()
    }

    pub(super) fn is_evicted(&self) -> bool {
        self.evicted.load(Ordering::Relaxed)
    }

    /// Marks it as evicted; what it counted for.
    pub(super) fn evict(&self) -> usize {
        self.evicted.store(true, Ordering::Relaxed);
        self.weight.load(Ordering::Relaxed)
    }

    /// Changes what it counts for.
    pub(super) fn weigh(&self, change: impl FnOnce(usize) -> usize) -> usize {
        let weight = change(self.weight.load(Ordering::Relaxed));
        self.weight.store(weight, Ordering::Relaxed);
        weight
    }

    /// The bytes of its buffers.
    #[cfg(test)]
    pub(super) fn buffers(&self) -> usize {
        let used = self.used.get().map_or(0, UsedDescriptions::bytes);
        self.path.capacity() + self.body.len() + self.response().bytes.capacity() + used
    }

    fn response(&self) -> MutexGuard<'_, CapturedResponse> {
        self.response.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
