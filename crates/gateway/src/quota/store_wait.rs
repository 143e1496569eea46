//! Limits how long a request waits for the stores of its limits.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The wait of a whole request for stores that nodes share, over all of its attempts.
pub(super) const SHARED: Duration = Duration::from_millis(50);
/// The same for a store in a folder of this machine: a commit takes as long as its disk does.
pub(super) const LOCAL: Duration = Duration::from_millis(500);

/// Counts the waits of all requests.
#[derive(Debug, Default)]
pub(super) struct WaitCounter {
    waits: AtomicU64,
    micros: AtomicU64,
    longest_micros: AtomicU64,
}

impl WaitCounter {
    fn add(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.waits.fetch_add(1, Relaxed);
        self.micros.fetch_add(micros, Relaxed);
        self.longest_micros.fetch_max(micros, Relaxed);
    }

    /// The number of waits, their sum and the longest, in seconds.
    pub(super) fn totals(&self) -> (u64, f64, f64) {
        let seconds = |micros: &AtomicU64| micros.load(Relaxed) as f64 / 1e6;
        let (sum, longest) = (seconds(&self.micros), seconds(&self.longest_micros));
        (self.waits.load(Relaxed), sum, longest)
    }
}

/// The time that a request has waited. Waits at the same time count once.
pub(crate) struct StoreWait {
    waited: Mutex<Waited>,
    most: Duration,
    counter: Arc<WaitCounter>,
}

#[derive(Default)]
struct Waited {
    waiting: usize,
    since: Option<Instant>,
    before: Duration,
}

impl StoreWait {
    pub(super) fn new(most: Duration, counter: &Arc<WaitCounter>) -> Self {
        Self {
            waited: Mutex::default(),
            most,
            counter: Arc::clone(counter),
        }
    }

    /// Starts a wait, which ends when the guard is dropped.
    pub(crate) fn begin(&self) -> WaitGuard<'_> {
        let mut waited = self.lock();
        waited.waiting += 1;
        let since = *waited.since.get_or_insert_with(Instant::now);
        let until = since + self.most.saturating_sub(waited.before);
        WaitGuard { wait: self, until }
    }

    fn lock(&self) -> MutexGuard<'_, Waited> {
        self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait in progress.
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
            let time = since.elapsed();
            waited.before += time;
            self.wait.counter.add(time);
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
        let wait = StoreWait::new(SHARED, &Arc::default());
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
