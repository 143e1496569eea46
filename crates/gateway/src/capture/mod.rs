//! Requests and responses of keys that opted in, in memory.
//!
//! Bounded in bytes; the oldest are evicted. Nothing of it reaches the disk, the log, a
//! record or an event: only the operator's listener reads it. Without a key that opted in
//! nothing is kept. Uses no other module.

mod writer;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

pub(crate) use writer::CaptureWriter;

/// Longest response that is kept; the rest is cut off.
const LONGEST_RESPONSE: usize = 4 << 20;
/// The overhead of an entry.
const OVERHEAD: usize = 512;

/// The kept requests of a server.
#[derive(Default)]
pub(crate) struct Capture(Mutex<CaptureRing>);

#[derive(Default)]
struct CaptureRing {
    kept: VecDeque<Arc<CapturedRequest>>,
    bytes: usize,
    most: usize,
}

/// A request as the client sent it, and what it received.
pub(crate) struct CapturedRequest {
    pub(crate) id: Arc<str>,
    /// The path with its query, without a key.
    pub(crate) path: String,
    pub(crate) body: Bytes,
    response: Mutex<CapturedResponse>,
    /// Set when it is evicted, while the ring is locked.
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

impl Capture {
    /// Applies a limit, and evicts entries that exceed it.
    pub(crate) fn resize(&self, most: u64) {
        let mut ring = self.ring();
        ring.most = usize::try_from(most).unwrap_or(usize::MAX);
        let evicted = ring.shrink();
        drop(ring);
        drop(evicted);
    }

    /// Keeps a request; its response is written to what is returned. `None` if it is larger
    /// than the whole capture.
    pub(crate) fn keep(
        self: &Arc<Self>,
        id: Arc<str>,
        path: String,
        body: Bytes,
    ) -> Option<CaptureWriter> {
        let mut ring = self.ring();
        let bytes = OVERHEAD + path.len() + body.len();
        if bytes > ring.most {
            return None;
        }
        let request = Arc::new(CapturedRequest {
            id,
            path,
            body,
            response: Mutex::default(),
            evicted: AtomicBool::new(false),
        });
        let writer = CaptureWriter::new(self, &request);
        ring.bytes += bytes;
        ring.kept.push_back(request);
        let evicted = ring.shrink();
        drop(ring);
        drop(evicted);
        Some(writer)
    }

    /// A request that is still kept.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<CapturedRequest>> {
        let ring = self.ring();
        ring.kept.iter().rev().find(|kept| &*kept.id == id).cloned()
    }

    /// Appends to a response that is still kept.
    fn append(&self, request: &CapturedRequest, chunk: &[u8]) {
        let mut ring = self.ring();
        // An evicted request is no longer counted, so nothing may be added to it.
        if request.evicted.load(Ordering::Relaxed) {
            return;
        }
        let mut response = request.response();
        let room = LONGEST_RESPONSE.saturating_sub(response.bytes.len());
        let taken = chunk.len().min(room);
        response.cut |= taken < chunk.len();
        response.bytes.extend_from_slice(&chunk[..taken]);
        drop(response);
        ring.bytes += taken;
        let evicted = ring.shrink();
        drop(ring);
        drop(evicted);
    }

    /// The bytes that are held.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.ring().bytes
    }

    fn ring(&self) -> MutexGuard<'_, CaptureRing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CaptureRing {
    /// Evicts the oldest beyond the limit.
    fn shrink(&mut self) -> Vec<Arc<CapturedRequest>> {
        let mut evicted = Vec::new();
        while self.bytes > self.most {
            let Some(oldest) = self.kept.pop_front() else {
                break;
            };
            self.bytes -= oldest.weight();
            oldest.evicted.store(true, Ordering::Relaxed);
            evicted.push(oldest);
        }
        evicted
    }
}

impl CapturedRequest {
    /// What the client received, so far.
    pub(crate) fn received(&self) -> CapturedResponse {
        self.response().clone()
    }

    fn weight(&self) -> usize {
        OVERHEAD + self.path.len() + self.body.len() + self.response().bytes.len()
    }

    fn response(&self) -> MutexGuard<'_, CapturedResponse> {
        self.response.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn capture(most: u64) -> Arc<Capture> {
        let capture = Arc::<Capture>::default();
        capture.resize(most);
        capture
    }

    proptest! {
        #[test]
        fn it_never_holds_more_than_its_limit_and_forgets_the_oldest(
            most in 0_u64..20_000,
            requests in proptest::collection::vec((0_usize..6_000, 0_usize..6_000), 0..20),
        ) {
            let capture = capture(most);
            let mut writers = Vec::new();
            for (number, (body, response)) in requests.iter().enumerate() {
                let id: Arc<str> = number.to_string().into();
                let writer = capture.keep(id, "/v1".to_owned(), vec![1; *body].into());
                writers.extend(writer);
                for writer in &writers {
                    writer.write(&vec![2; *response]);
                    prop_assert!(capture.bytes() as u64 <= most);
                }
            }
            let counted: usize = capture.ring().kept.iter().map(|kept| kept.weight()).sum();
            prop_assert_eq!(counted, capture.bytes());
            capture.resize(0);
            prop_assert_eq!(capture.bytes(), 0);
        }
    }

    #[test]
    fn a_request_is_found_with_what_its_client_received() {
        let capture = capture(1 << 20);
        let writer = capture.keep("a".into(), "/v1/messages".to_owned(), "{}".into());
        let writer = writer.unwrap();
        writer.begin(200, "text/event-stream");
        writer.write(b"data: 1\n\n");
        let found = capture.find("a").unwrap();
        assert_eq!((&*found.path, &*found.body), ("/v1/messages", &b"{}"[..]));
        let received = found.received();
        assert_eq!(
            (received.status, &*received.bytes),
            (200, &b"data: 1\n\n"[..])
        );
        assert!(capture.find("b").is_none());
    }
}
