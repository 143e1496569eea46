//! Streams of HTTP/2 whose client opens no window.
//!
//! The connection goes on, pings included, so nothing on its socket shows that
//! one answer stands still. Each stream is a task of its own here: it ends when
//! its body has given something and is not asked for more for too long.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::rt::Executor;
use tokio::time::{Instant, sleep_until};

use super::polls::Polls;

tokio::task_local! {
    static CURRENT: Arc<Progress>;
}

/// How one stream moves on.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// When something was given, unless more was asked for since.
    given: Mutex<Option<Instant>>,
}

impl Progress {
    /// That of the stream whose task this is.
    pub(super) fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// More is asked for.
    pub(super) fn asked(&self) {
        self.set(None);
    }

    /// Something was given.
    pub(super) fn gave(&self) {
        self.set(Some(Instant::now()));
    }

    fn set(&self, given: Option<Instant>) {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = given;
    }

    /// Ends when nothing was asked for so long after something was given.
    async fn stalled(&self, after: Duration) {
        loop {
            let given = *self.given.lock().unwrap_or_else(PoisonError::into_inner);
            let since = given.unwrap_or_else(Instant::now);
            if since.elapsed() >= after {
                return;
            }
            sleep_until(since + after).await;
        }
    }
}

/// Runs the streams of a connection.
#[derive(Clone)]
pub(super) struct Streams {
    /// What a client may take to ask for more.
    pub(super) stall: Duration,
    pub(super) polls: Polls,
}

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let progress = Arc::<Progress>::default();
        let stall = self.stall;
        let watched = async move {
            let progress = Progress::current().unwrap_or_default();
            tokio::select! {
                () = stream => {}
                () = progress.stalled(stall) => tracing::debug!("a client takes nothing of a stream"),
            }
        };
        tokio::spawn(self.polls.watch(CURRENT.scope(progress, watched)));
    }
}
