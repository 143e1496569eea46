//! Requests and responses of keys that opted in, in memory.
//!
//! Bounded in bytes as the allocator hands them out; the oldest are evicted before more is
//! allocated. Nothing of it reaches the disk, the log, a record or an event: only the
//! operator's listener reads it. Without a key that opted in nothing is kept. Uses no other
//! module.

mod copied;
mod request;
mod ring;
#[cfg(test)]
mod tests;
mod writer;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use majordomo_vision::UsedDescriptions;

pub(crate) use request::{CapturedRequest, SentRequest};
pub(crate) use writer::CaptureWriter;

use ring::{CaptureRing, Reservation};

/// Longest response that is kept; the rest is cut off.
const LONGEST_RESPONSE: usize = 4 << 20;
/// The overhead of an entry.
const OVERHEAD: usize = 512;

/// The kept requests of a server.
#[derive(Default)]
pub(crate) struct Capture(Mutex<CaptureRing>);

impl Capture {
    /// Applies a limit, and evicts entries that exceed it.
    pub(crate) fn resize(&self, most: u64) {
        let evicted = self
            .ring()
            .resize(usize::try_from(most).unwrap_or(usize::MAX));
        drop(evicted);
    }

    /// Keeps a request; its response is written to what is returned. `None` if it is larger
    /// than the whole capture.
    ///
    /// The body is copied: what the client sent may be a part of a larger buffer, which the
    /// copy does not keep alive.
    pub(crate) async fn keep(
        self: &Arc<Self>,
        sent: SentRequest,
        body: &Bytes,
    ) -> Option<CaptureWriter> {
        let weight = OVERHEAD + allocated(sent.path.capacity()) + allocated(body.len());
        let reservation = Reservation::new(self, weight)?;
        let body = copied::copied(body).await;
        let request = Arc::new(CapturedRequest::new(sent, body, weight));
        let writer = CaptureWriter::new(self, &request);
        reservation.fill(request);
        Some(writer)
    }

    /// A request that is still kept.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<CapturedRequest>> {
        self.ring().find(id)
    }

    /// Appends to a response that is still kept.
    fn append(&self, request: &CapturedRequest, chunk: &[u8]) {
        let growth = request.growth(chunk.len());
        // The oldest make room before there is more.
        if growth == 0 || self.charge(request, allocated(growth)) {
            request.append(chunk, growth);
        }
    }

    /// Gives back what a response that is over did not need.
    fn trim(&self, request: &CapturedRequest) {
        let unused = request.trim();
        self.ring().release(request, allocated(unused));
    }

    /// Keeps the descriptions by which images of a request were replaced.
    fn describe(&self, request: &CapturedRequest, used: UsedDescriptions) {
        if used.bytes() > 0 && self.charge(request, allocated(used.bytes())) {
            request.describe(used);
        }
    }

    /// Counts what a request is about to hold more; whether it is still kept.
    fn charge(&self, request: &CapturedRequest, bytes: usize) -> bool {
        let mut ring = self.ring();
        let evicted = ring.charge(request, bytes);
        drop(ring);
        drop(evicted);
        !request.is_evicted()
    }

    fn ring(&self) -> MutexGuard<'_, CaptureRing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an allocation takes at most: allocators round up to sizes that are an eighth apart.
fn allocated(bytes: usize) -> usize {
    bytes + bytes / 8
}
