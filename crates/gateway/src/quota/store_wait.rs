//! How long a request waits for the stores of budgets.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The wait of a whole request, over all of its attempts.
const MOST: Duration = Duration::from_millis(50);

/// The time that a request has waited. Waits at the same time count once.
#[derive(Default)]
pub(crate) struct StoreWait(Mutex<Waited>);

#[derive(Default)]
struct Waited {
    waiting: usize,
    since: Option<Instant>,
    before: Duration,
}

impl StoreWait {
    /// Starts a wait, which ends when the guard is dropped.
    pub(crate) fn begin(&self) -> WaitGuard<'_> {
        let mut waited = self.lock();
        waited.waiting += 1;
        let since = *waited.since.get_or_insert_with(Instant::now);
        let until = since + MOST.saturating_sub(waited.before);
        WaitGuard { wait: self, until }
    }

    fn lock(&self) -> MutexGuard<'_, Waited> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait that is under way.
pub(crate) struct WaitGuard<'a> {
    wait: &'a StoreWait,
    /// When the request has waited long enough.
    pub(crate) until: Instant,
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        let mut waited = self.wait.lock();
        waited.waiting -= 1;
        if waited.waiting == 0
            && let Some(since) = waited.since.take()
        {
            waited.before += since.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, timeout_at};

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[tokio::test(start_paused = true)]
    async fn waits_of_one_request_add_up_to_fifty_milliseconds() {
        let wait = StoreWait::default();
        let began = Instant::now();
        for left in [50, 30, 10, 0, 0] {
            // A target that takes its time is no wait for the store.
            advance(1_000 * MS).await;
            let one = wait.begin();
            assert_eq!(
                one.until.saturating_duration_since(Instant::now()),
                left * MS
            );
            let other = wait.begin();
            assert_eq!(other.until, one.until);
            let _ = timeout_at(one.until, advance(20 * MS)).await;
        }
        assert!(began.elapsed() >= 5_000 * MS);
    }
}
