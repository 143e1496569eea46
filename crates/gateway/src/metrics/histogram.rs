//! A histogram with fixed buckets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets, in seconds: from a cached list to minutes of reasoning.
pub(super) const BUCKET_BOUNDS: [f64; 14] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];

/// Counts of durations by bucket.
#[derive(Default)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BUCKET_BOUNDS.len()],
    beyond: AtomicU64,
    microseconds: AtomicU64,
}

impl Histogram {
    pub(super) fn observe(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        let bucket = BUCKET_BOUNDS.iter().position(|end| seconds <= *end);
        let bucket = bucket.map_or(&self.beyond, |n| &self.buckets[n]);
        bucket.fetch_add(1, Ordering::Relaxed);
        let time = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(time, Ordering::Relaxed);
    }

    /// Cumulative counts per bucket, then the total.
    pub(super) fn counts(&self) -> ([u64; BUCKET_BOUNDS.len()], u64) {
        let mut sum = 0;
        let counts = std::array::from_fn(|n| {
            sum += self.buckets[n].load(Ordering::Relaxed);
            sum
        });
        (counts, sum + self.beyond.load(Ordering::Relaxed))
    }

    /// Sum of all durations, in seconds.
    pub(super) fn sum(&self) -> f64 {
        self.microseconds.load(Ordering::Relaxed) as f64 / 1e6
    }
}
