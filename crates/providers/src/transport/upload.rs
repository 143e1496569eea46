//! The request body: one `Bytes`, handed over piece by piece.
//!
//! The pieces share the caller's memory. They exist so that a server that stops
//! taking them is noticed in either protocol.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;

/// Small enough to see a stall: two of them may be taken before the first is sent.
const PIECE: usize = 64 * 1024;
/// As long as much more is left, so much goes out at once, which costs less.
const LARGE_PIECE: usize = 4 * PIECE;

pub(crate) struct Upload {
    rest: Bytes,
    taken: Option<Arc<Mutex<Taken>>>,
}

/// How far a request has been taken; for those who watch.
pub(crate) struct Progress(Option<Arc<Mutex<Taken>>>);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) left: usize,
    /// When the last piece was taken.
    pub(crate) at: Instant,
}

impl Upload {
    pub(crate) fn new(body: Bytes) -> (Self, Progress) {
        // A single piece fits into any socket, so there is nothing to watch.
        let taken = (body.len() > PIECE).then(|| {
            Arc::new(Mutex::new(Taken {
                left: body.len(),
                at: Instant::now(),
            }))
        });
        let progress = Progress(taken.clone());
        (Self { rest: body, taken }, progress)
    }
}

impl Progress {
    /// Where it stands; `None` if the request is too small to be watched.
    pub(crate) fn taken(&self) -> Option<Taken> {
        self.0.as_ref().map(|taken| *lock(taken))
    }
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Body for Upload {
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
            left if left > 2 * LARGE_PIECE => LARGE_PIECE,
            left => left.min(PIECE),
        };
        let piece = self.rest.split_to(size);
        if let Some(taken) = &self.taken {
            *lock(taken) = Taken {
                left: self.rest.len(),
                at: Instant::now(),
            };
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
