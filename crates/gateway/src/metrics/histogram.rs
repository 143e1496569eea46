//! A histogram with fixed buckets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets of durations, in seconds: from a cached list to minutes of
/// reasoning.
const SECONDS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];

/// Counts of values by bucket. By default, of durations in seconds.
pub(crate) struct Histogram {
    bounds: &'static [f64],
    /// One more than bounds: the last is for values beyond.
    buckets: Box<[AtomicU64]>,
    /// The sum, in millionths.
    millionths: AtomicU64,
}

/// What a histogram counted so far.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HistogramCounts {
    /// Upper bounds of all buckets but the last.
    pub(crate) bounds: &'static [f64],
    /// Values in each bucket, the last one beyond all bounds.
    pub(crate) counts: Vec<u64>,
    /// Sum of all values.
    pub(crate) sum: f64,
}

impl Histogram {
    /// An empty one with these bounds, in ascending order.
    pub(crate) fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            buckets: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            millionths: AtomicU64::new(0),
        }
    }

    /// Counts a duration, in seconds.
    pub(crate) fn observe(&self, time: Duration) {
        let millionths = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.count(time.as_secs_f64(), millionths);
    }

    /// Counts a whole number.
    #[cfg(feature = "otel")]
    pub(crate) fn observe_number(&self, number: u64) {
        self.count(number as f64, number.saturating_mul(1_000_000));
    }

    fn count(&self, value: f64, millionths: u64) {
        let bucket = self.bounds.iter().position(|end| value <= *end);
        let bucket = &self.buckets[bucket.unwrap_or(self.bounds.len())];
        bucket.fetch_add(1, Ordering::Relaxed);
        self.millionths.fetch_add(millionths, Ordering::Relaxed);
    }

    /// What was counted so far.
    pub(crate) fn counts(&self) -> HistogramCounts {
        let buckets = self.buckets.iter();
        HistogramCounts {
            bounds: self.bounds,
            counts: buckets.map(|it| it.load(Ordering::Relaxed)).collect(),
            sum: self.millionths.load(Ordering::Relaxed) as f64 / 1e6,
        }
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new(SECONDS)
    }
}

impl HistogramCounts {
    /// The number of values.
    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Adds those of another histogram with the same bounds.
    #[cfg(feature = "otel")]
    pub(crate) fn add(&mut self, more: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&more.counts) {
            *count += more;
        }
        self.sum += more.sum;
    }
}
