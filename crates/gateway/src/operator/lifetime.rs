//! How long a connection of the operator's listener may live.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The maximum lifetime of a connection, and the maximum time during which a reader of the
/// event stream may take nothing.
const LIFETIME: Duration = Duration::from_secs(30);

/// Ends a connection after 30 seconds, or once its event stream is no longer read: an open
/// page may stay, a reader that stopped may not.
#[derive(Clone)]
pub(super) struct Lifetime(Arc<Mutex<Instant>>);

impl Lifetime {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Instant::now() + LIFETIME)))
    }

    /// The event stream was read. The stream is polled at least at every keep-alive, unless
    /// the connection takes no more bytes.
    pub(super) fn extend(&self) {
        *self.end() = Instant::now() + LIFETIME;
    }

    /// Completes when the connection must end.
    pub(super) async fn over(&self) {
        loop {
            let end = *self.end();
            sleep_until(end).await;
            if *self.end() <= Instant::now() {
                return;
            }
        }
    }

    fn end(&self) -> MutexGuard<'_, Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_ends_thirty_seconds_after_its_stream_was_last_read() {
        let lifetime = Lifetime::new();
        for _ in 0..20 {
            let waiting = timeout(Duration::from_secs(10), lifetime.over());
            assert!(waiting.await.is_err(), "it is still read");
            lifetime.extend();
        }
        let began = Instant::now();
        lifetime.over().await;
        assert_eq!(began.elapsed().as_secs(), 30);
        advance(Duration::from_secs(1)).await;
        lifetime.over().await;
    }
}
