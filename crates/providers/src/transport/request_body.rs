//! The request body: one `Bytes`, handed to hyper in chunks.
//!
//! The chunks share the caller's memory. Chunking makes a stalled server detectable
//! with either HTTP version.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;

/// Small enough to detect a stall: hyper may buffer two chunks before sending the
/// first.
const CHUNK: usize = 64 * 1024;
/// Used while much of the body is left, for fewer system calls.
const LARGE_CHUNK: usize = 4 * CHUNK;

pub(crate) struct RequestBody {
    rest: Bytes,
    position: Option<Arc<Mutex<UploadPosition>>>,
}

/// How much of a body hyper has taken.
pub(crate) struct UploadProgress(Option<Arc<Mutex<UploadPosition>>>);

#[derive(Clone, Copy, Debug)]
pub(crate) struct UploadPosition {
    pub(crate) left: usize,
    /// When the last chunk was taken.
    pub(crate) at: Instant,
}

impl RequestBody {
    pub(crate) fn new(body: Bytes) -> (Self, UploadProgress) {
        // A single chunk fits into any socket buffer and needs no tracking.
        let position = (body.len() > CHUNK).then(|| {
            Arc::new(Mutex::new(UploadPosition {
                left: body.len(),
                at: Instant::now(),
            }))
        });
        let progress = UploadProgress(position.clone());
        (
            Self {
                rest: body,
                position,
            },
            progress,
        )
    }
}

impl UploadProgress {
    /// The current position; `None` if the body is too small to track.
    pub(crate) fn position(&self) -> Option<UploadPosition> {
        self.0.as_ref().map(|position| *lock(position))
    }
}

fn lock(position: &Mutex<UploadPosition>) -> MutexGuard<'_, UploadPosition> {
    position.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let size = match self.rest.len() {
            left if left > 2 * LARGE_CHUNK => LARGE_CHUNK,
            left => left.min(CHUNK),
        };
        let chunk = self.rest.split_to(size);
        if let Some(position) = &self.position {
            *lock(position) = UploadPosition {
                left: self.rest.len(),
                at: Instant::now(),
            };
        }
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
