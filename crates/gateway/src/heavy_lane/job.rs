//! A join handle for work on the lane.

use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::task::JoinHandle;

/// Resolves to the work's output, or resumes its panic; dropping it cancels the work
/// after the running poll.
#[must_use = "the work is cancelled when this is dropped"]
pub(crate) struct LaneJob<T>(Option<JoinHandle<T>>);

impl<T> LaneJob<T> {
    pub(super) fn new(handle: JoinHandle<T>) -> Self {
        Self(Some(handle))
    }

    /// Lets the work run without an owner; only for work that never waits.
    pub(super) fn detach(mut self) {
        self.0 = None;
    }
}

impl<T> Future for LaneJob<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let Some(handle) = &mut self.0 else {
            return Poll::Pending;
        };
        match ready!(Pin::new(handle).poll(cx)) {
            Ok(output) => Poll::Ready(output),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The lane outlives its waiters, unless the process ends.
                Err(_) => Poll::Pending,
            },
        }
    }
}

impl<T> Drop for LaneJob<T> {
    fn drop(&mut self) {
        if let Some(handle) = &self.0 {
            handle.abort();
        }
    }
}
