//! Whether a store responds: one state machine per store.
//!
//! Up, until a call fails; then failing, until the next attempt decides; then down, with a
//! growing pause between attempts. Each change of availability is one log line. Callers
//! pass the time.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The pause after the first failure.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause: the end of an outage is noticed within this time.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// A store that leaves a call unanswered for this long does not count as up, even if the call's
/// deadline is later.
const SILENT: Duration = Duration::from_secs(1);

/// The state of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreState {
    /// It responds.
    Up,
    /// The last call failed; the next one decides.
    Failing,
    /// It does not respond.
    Down,
}

impl StoreState {
    /// The state as one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Failing => "failing",
            Self::Down => "down",
        }
    }
}

/// A store's state, for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreStatus {
    /// The store's name, such as `redis`.
    pub store: &'static str,
    /// Its state.
    pub state: StoreState,
    /// How long it has been in this state.
    pub for_time: Duration,
    /// The last failure, without secrets.
    pub reason: Option<String>,
    /// The number of times it became unavailable.
    pub outages: u64,
}

/// The state machine of one store.
#[derive(Debug)]
pub struct Availability {
    store: &'static str,
    /// The consequence of an outage, for the log.
    consequence: &'static str,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    state: StoreState,
    since: Instant,
    pause: Duration,
    reason: Option<String>,
    outages: u64,
    /// When the call began that has not ended.
    called: Option<Instant>,
}

impl Availability {
    /// A store that counts as up until a call fails.
    pub fn new(store: &'static str, consequence: &'static str, now: Instant) -> Self {
        Self {
            store,
            consequence,
            known: Mutex::new(Known {
                state: StoreState::Up,
                since: now,
                pause: FIRST_PAUSE,
                reason: None,
                outages: 0,
                called: None,
            }),
        }
    }

    /// Whether requests may use the store.
    pub fn is_up(&self) -> bool {
        self.lock().state == StoreState::Up
    }

    /// For how long the store has not responded; zero while it does.
    pub fn away_for(&self, now: Instant) -> Duration {
        let known = self.lock();
        match known.state {
            StoreState::Up => Duration::ZERO,
            StoreState::Failing | StoreState::Down => now.saturating_duration_since(known.since),
        }
    }

    /// A call begins, of a caller that makes one after the other. Its end is reported to
    /// [`succeeded`](Self::succeeded) or [`failed`](Self::failed).
    pub fn called(&self, now: Instant) {
        self.lock().called = Some(now);
    }

    /// A call succeeded.
    pub fn succeeded(&self, now: Instant) {
        let mut known = self.lock();
        known.called = None;
        if known.state == StoreState::Up {
            return;
        }
        let (store, outage) = (self.store, now.saturating_duration_since(known.since));
        known.state = StoreState::Up;
        known.since = now;
        known.pause = FIRST_PAUSE;
        known.reason = None;
        drop(known);
        tracing::info!(
            store,
            seconds = outage.as_secs_f64(),
            "the store responds again"
        );
    }

    /// Records a failed or late call. Returns the pause before the next attempt.
    pub fn failed(&self, now: Instant, reason: &str) -> Duration {
        let mut known = self.lock();
        known.called = None;
        known.reason = Some(reason.to_owned());
        if known.state == StoreState::Up {
            known.state = StoreState::Failing;
            known.since = now;
            known.outages += 1;
            known.pause = FIRST_PAUSE;
            drop(known);
            let (store, consequence) = (self.store, self.consequence);
            tracing::warn!(store, reason, "the store does not respond; {consequence}");
            return FIRST_PAUSE;
        }
        known.state = StoreState::Down;
        known.pause = (known.pause * 2).min(LONGEST_PAUSE);
        known.pause
    }

    /// The state, for operators.
    pub fn status(&self, now: Instant) -> StoreStatus {
        let known = self.lock();
        let mut status = StoreStatus {
            store: self.store,
            state: known.state,
            for_time: now.saturating_duration_since(known.since),
            reason: known.reason.clone(),
            outages: known.outages,
        };
        let called = known
            .called
            .map(|called| now.saturating_duration_since(called));
        if let Some(silence) = called.filter(|silence| *silence >= SILENT)
            && known.state == StoreState::Up
        {
            status.state = StoreState::Failing;
            status.for_time = silence;
            status.reason = Some("no reply yet".to_owned());
        }
        status
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_store_is_up_then_failing_then_down_and_up_again() {
        let store = Availability::new("redis", "shares hold", Instant::now());
        let state = |store: &Availability| store.status(Instant::now()).state;
        assert!(store.is_up());
        store.failed(Instant::now(), "no reply within 50 ms");
        assert_eq!(state(&store), StoreState::Failing);
        assert!(
            !store.is_up(),
            "requests do not ask a store that just failed"
        );
        store.failed(Instant::now(), "connection refused");
        assert_eq!(state(&store), StoreState::Down);
        store.succeeded(Instant::now());
        assert_eq!(state(&store), StoreState::Up);
        assert_eq!(store.status(Instant::now()).outages, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_leaves_a_call_unanswered_for_a_second_is_failing() {
        let store = Availability::new("postgres", "leases are spent", Instant::now());
        let state = || store.status(Instant::now()).state;
        store.called(Instant::now());
        tokio::time::advance(Duration::from_millis(999)).await;
        assert_eq!(state(), StoreState::Up);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(state(), StoreState::Failing);
        assert_eq!(store.status(Instant::now()).for_time, SILENT);
        store.succeeded(Instant::now());
        assert_eq!(state(), StoreState::Up);
        store.called(Instant::now());
        store.failed(Instant::now(), "no reply within 5 s");
        tokio::time::advance(SILENT).await;
        assert_eq!(
            store.status(Instant::now()).reason.as_deref(),
            Some("no reply within 5 s")
        );
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_become_rarer_up_to_two_seconds() {
        let store = Availability::new("redis", "shares hold", Instant::now());
        let pauses = [(); 8].map(|()| store.failed(Instant::now(), "x").as_millis());
        assert_eq!(pauses, [100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000]);
        store.succeeded(Instant::now());
        assert_eq!(store.failed(Instant::now(), "x"), FIRST_PAUSE);
    }
}
