//! Mean and percentiles over a sliding window of the last hundred samples.

use std::array;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use serde::Serialize;

/// Size of the window.
const WINDOW: usize = 100;

/// A ring of samples with a running sum, so that the mean takes two loads.
#[derive(Debug)]
pub(super) struct SampleRing {
    /// Samples so far, including evicted ones.
    count: AtomicU64,
    /// The sum of the ring.
    sum: AtomicU64,
    /// Boxed: picks read the counts and sums of many services, but no samples.
    ring: Box<[AtomicU32; WINDOW]>,
}

impl Default for SampleRing {
    fn default() -> Self {
        Self {
            count: AtomicU64::new(0),
            sum: AtomicU64::new(0),
            ring: Box::new(array::from_fn(|_| AtomicU32::new(0))),
        }
    }
}

impl SampleRing {
    pub(super) fn add(&self, sample: u64) {
        let sample = u32::try_from(sample).unwrap_or(u32::MAX);
        let place = self.count.fetch_add(1, Ordering::Relaxed) as usize % WINDOW;
        // The swap returns exactly the evicted sample, even with concurrent writers.
        let left = self.ring[place].swap(sample, Ordering::Relaxed);
        self.sum.fetch_add(u64::from(sample), Ordering::Relaxed);
        self.sum.fetch_sub(u64::from(left), Ordering::Relaxed);
    }

    pub(super) fn len(&self) -> usize {
        (self.count.load(Ordering::Relaxed) as usize).min(WINDOW)
    }

    pub(super) fn mean(&self) -> Option<f64> {
        let len = self.len();
        let sum = self.sum.load(Ordering::Relaxed);
        (len > 0).then(|| sum as f64 / len as f64)
    }

    /// Summarizes the window, in units of `unit` samples.
    pub(super) fn spread(&self, unit: f64) -> SampleSummary {
        let len = self.len();
        let ring = self.ring[..len].iter();
        let mut samples: Vec<u32> = ring.map(|s| s.load(Ordering::Relaxed)).collect();
        samples.sort_unstable();
        let at = |share| percentile(&samples, share).map(|sample| sample / unit);
        SampleSummary {
            samples: len,
            mean: self.mean().map(|mean| mean / unit),
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
        }
    }
}

/// Mean and percentiles of the last hundred samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SampleSummary {
    /// Number of samples, at most a hundred.
    pub samples: usize,
    /// The mean.
    pub mean: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// The 95th percentile.
    pub p95: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
}

/// Interpolates linearly between the two nearest samples.
fn percentile(sorted: &[u32], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let rank = share * last as f64;
    let below = sorted[rank as usize];
    let above = sorted[(rank as usize + 1).min(last)];
    Some(f64::from(below) + (f64::from(above) - f64::from(below)) * rank.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_hundred_samples_count() {
        let average = SampleRing::default();
        assert_eq!(average.mean(), None);
        for _ in 0..50 {
            average.add(1_000);
        }
        assert_eq!((average.len(), average.mean()), (50, Some(1_000.0)));
        for sample in 1..=100 {
            average.add(sample);
        }
        assert_eq!((average.len(), average.mean()), (100, Some(50.5)));
    }

    #[test]
    fn percentiles_are_interpolated_between_the_nearest_samples() {
        let average = SampleRing::default();
        for sample in (1..=100).rev() {
            average.add(sample);
        }
        let spread = average.spread(1.0);
        assert_eq!(spread.p50, Some(50.5));
        assert!((spread.p99.unwrap() - 99.01).abs() < 1e-9);
        assert_eq!(SampleRing::default().spread(1.0), SampleSummary::default());
    }
}
