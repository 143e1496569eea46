//! Statistics of one service: lock-free, cheap to update and to read.
//!
//! [`Meter`](super::Meter) records a sample as soon as it is known; tactics and rules
//! read at any time. Related samples are not updated atomically together; readers
//! tolerate that.
//!
//! Uses `majordomo`'s usage type and, for snapshots, [`Service`](super::Service); no other
//! sibling.

mod peak_ewma;
mod sample_ring;
mod seats;
mod snapshot;
mod token_window;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use majordomo::Usage;

use peak_ewma::PeakEwma;
use sample_ring::SampleRing;
pub use sample_ring::SampleSummary;
use seats::Seats;
pub use seats::{NoFreeSeat, Seat};
pub use snapshot::{PoolSnapshot, ServiceSnapshot};
use token_window::TokenWindow;

/// The statistics of one service, shared by its pool and by every target of its spec.
#[derive(Debug)]
pub struct ServiceStats {
    /// Identifies the service within the process, even across reloads.
    identity: u64,
    /// Start of this service's timeline.
    epoch: Instant,
    seats: Seats,
    peak: PeakEwma,
    tokens: TokenWindow,
    /// Microseconds.
    first_token: SampleRing,
    /// Millitokens per second.
    speed: SampleRing,
    /// Microseconds.
    latency: SampleRing,
    picks: AtomicU64,
    answers: AtomicU64,
    failures: AtomicU64,
    input: AtomicU64,
    output: AtomicU64,
    cache_read: AtomicU64,
    cache_hits: AtomicU64,
    /// Number of attempts that reported usage.
    usages: AtomicU64,
}

impl ServiceStats {
    /// Empty statistics. `epoch` is the start of the timeline; earlier times count as the
    /// epoch.
    pub fn new(epoch: Instant) -> Self {
        static IDENTITIES: AtomicU64 = AtomicU64::new(1);
        Self {
            identity: IDENTITIES.fetch_add(1, Ordering::Relaxed),
            epoch,
            seats: Seats::default(),
            peak: PeakEwma::default(),
            tokens: TokenWindow::default(),
            first_token: SampleRing::default(),
            speed: SampleRing::default(),
            latency: SampleRing::default(),
            picks: AtomicU64::new(0),
            answers: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            input: AtomicU64::new(0),
            output: AtomicU64::new(0),
            cache_read: AtomicU64::new(0),
            cache_hits: AtomicU64::new(0),
            usages: AtomicU64::new(0),
        }
    }

    /// Requests in flight.
    pub fn in_flight(&self) -> usize {
        self.seats.taken()
    }

    /// The number of times it was picked first.
    pub fn picks(&self) -> u64 {
        self.picks.load(Ordering::Relaxed)
    }

    /// Time to first token of the last hundred streams, in milliseconds.
    pub fn first_token(&self) -> SampleSummary {
        self.first_token.spread(1_000.0)
    }

    /// Output tokens per second of the last hundred streams.
    pub fn speed(&self) -> SampleSummary {
        self.speed.spread(1_000.0)
    }

    /// Duration of the last hundred complete responses, in milliseconds.
    pub fn latency(&self) -> SampleSummary {
        self.latency.spread(1_000.0)
    }

    /// Mean time to first token in milliseconds, if known.
    pub fn mean_first_token(&self) -> Option<f64> {
        self.first_token.mean().map(|micros| micros / 1_000.0)
    }

    /// Mean output tokens per second, and the number of samples.
    pub fn mean_speed(&self) -> (Option<f64>, usize) {
        let mean = self.speed.mean().map(|millis| millis / 1_000.0);
        (mean, self.speed.len())
    }

    /// Mean duration of a complete response in milliseconds, if known.
    pub fn mean_latency(&self) -> Option<f64> {
        self.latency.mean().map(|micros| micros / 1_000.0)
    }

    /// Peak EWMA of the latency in seconds, decayed to `now`; 0 without samples.
    pub fn peak_latency(&self, now: Instant) -> f64 {
        self.peak_at(self.moment(now))
    }

    pub(super) fn peak_at(&self, moment: u64) -> f64 {
        self.peak.read(moment)
    }

    /// Input and output tokens of the last minute.
    pub fn recent_tokens(&self, now: Instant) -> u64 {
        self.tokens_at(self.moment(now))
    }

    pub(super) fn tokens_at(&self, moment: u64) -> u64 {
        self.tokens.sum(moment)
    }

    /// Share of input tokens that the provider read from its cache.
    pub fn cached_share(&self) -> Option<f64> {
        share(&self.cache_read, &self.input)
    }

    /// Share of responses with at least one cached token.
    pub fn cache_hit_share(&self) -> Option<f64> {
        share(&self.cache_hits, &self.usages)
    }

    /// Takes a seat, waiting as long as the configuration allows.
    pub async fn take_seat(self: &Arc<Self>) -> Result<Seat, NoFreeSeat> {
        Seats::take(self).await
    }

    /// Takes a seat if one is free now.
    pub fn try_seat(self: &Arc<Self>) -> Option<Seat> {
        Seats::try_take(self)
    }

    /// Records the time to first token of a stream.
    pub fn record_first_token(&self, after: Duration) {
        self.first_token.add(micros(after));
    }

    /// Records a stream's output tokens and the time since its first token; the first
    /// token itself is excluded.
    pub fn record_speed(&self, output: u64, took: Duration) {
        if output > 1 && !took.is_zero() {
            let speed = (output - 1) as f64 / took.as_secs_f64();
            self.speed.add((speed * 1_000.0) as u64);
        }
    }

    /// Records a complete response.
    pub fn record_response(&self, took: Duration, now: Instant) {
        self.answers.fetch_add(1, Ordering::Relaxed);
        self.latency.add(micros(took));
        self.peak.add(took.as_secs_f64(), self.moment(now));
    }

    /// Records the usage of an attempt.
    pub fn record_usage(&self, usage: &Usage, now: Instant) {
        self.tokens.add(usage.total(), self.moment(now));
        self.input.fetch_add(usage.input, Ordering::Relaxed);
        self.output.fetch_add(usage.output, Ordering::Relaxed);
        self.cache_read
            .fetch_add(usage.cache_read, Ordering::Relaxed);
        self.usages.fetch_add(1, Ordering::Relaxed);
        let hit = u64::from(usage.cache_read > 0);
        self.cache_hits.fetch_add(hit, Ordering::Relaxed);
    }

    /// Records a failed attempt. Its duration is ignored, so that fast failures do not
    /// look like fast responses.
    pub fn record_failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn is_full(&self) -> bool {
        self.seats.are_taken()
    }

    pub(super) fn record_pick(&self) {
        self.picks.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn identity(&self) -> u64 {
        self.identity
    }

    pub(super) fn set_capacity(&self, capacity: Option<usize>, wait: Duration) {
        self.seats.limit(capacity, wait);
    }

    /// Microseconds since the epoch.
    pub(super) fn moment(&self, at: Instant) -> u64 {
        moment(self.epoch, at)
    }
}

/// Microseconds since an epoch.
pub(super) fn moment(epoch: Instant, at: Instant) -> u64 {
    micros(at.saturating_duration_since(epoch))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn share(part: &AtomicU64, whole: &AtomicU64) -> Option<f64> {
    let whole = whole.load(Ordering::Relaxed);
    let part = part.load(Ordering::Relaxed);
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use majordomo::clock::{Clock, ManualClock};

    use super::*;

    #[test]
    fn speed_is_measured_from_the_first_token_and_needs_two_tokens() {
        let stats = ServiceStats::new(ManualClock::new().now());
        stats.record_speed(1, Duration::from_secs(1));
        stats.record_speed(101, Duration::ZERO);
        assert_eq!(stats.mean_speed(), (None, 0));
        stats.record_speed(101, Duration::from_secs(2));
        assert_eq!(stats.mean_speed(), (Some(50.0), 1));
    }

    #[test]
    fn cache_hits_are_shares_of_responses_and_of_input() {
        let now = ManualClock::new().now();
        let stats = ServiceStats::new(now);
        assert_eq!(
            (stats.cached_share(), stats.cache_hit_share()),
            (None, None)
        );
        for cache_read in [0, 50] {
            let usage = Usage::new(100, 0).with_cache_read(cache_read);
            stats.record_usage(&usage, now);
        }
        assert_eq!(stats.cached_share(), Some(0.25));
        assert_eq!(stats.cache_hit_share(), Some(0.5));
    }
}
