//! Detects HTTP/2 streams whose client opens no window.
//!
//! The connection stays alive, pings included, so its socket does not show that one
//! response is stalled. Each stream runs as a task that ends when its body has yielded
//! data and is not polled for more within the timeout.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::rt::Executor;
use tokio::time::{Instant, sleep_until};

use super::polls::Polls;

tokio::task_local! {
    static CURRENT: Arc<StreamProgress>;
}

/// Write progress of one stream.
#[derive(Debug, Default)]
pub(super) struct StreamProgress {
    /// When data was last yielded, unless the body was polled since.
    given: Mutex<Option<Instant>>,
}

impl StreamProgress {
    /// The progress of the current task's stream.
    pub(super) fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// Records that the body is polled.
    pub(super) fn polled(&self) {
        self.set(None);
    }

    /// Records that the body yielded data.
    pub(super) fn yielded(&self) {
        self.set(Some(Instant::now()));
    }

    fn set(&self, given: Option<Instant>) {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = given;
    }

    /// Completes when the body has not been polled for `after` since it yielded data.
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

/// Spawns the streams of a connection.
#[derive(Clone)]
pub(super) struct StreamExecutor {
    /// Longest time between two polls of a body.
    pub(super) stall: Duration,
    pub(super) polls: Polls,
}

impl<F> Executor<F> for StreamExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let progress = Arc::<StreamProgress>::default();
        let stall = self.stall;
        let watched = async move {
            let progress = StreamProgress::current().unwrap_or_default();
            tokio::select! {
                () = stream => {}
                () = progress.stalled(stall) => tracing::debug!("a client reads nothing from its stream"),
            }
        };
        tokio::spawn(self.polls.watch(CURRENT.scope(progress, watched)));
    }
}
