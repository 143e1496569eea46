//! Peak EWMA, the latency estimate of Finagle and linkerd.
//!
//! An exponentially weighted moving average that is sensitive to peaks: a sample above
//! the estimate replaces it; one below lowers it, by more the older the estimate is.
//! Without samples the estimate decays, so that a service that was slow once is tried
//! again.

use std::sync::atomic::{AtomicU64, Ordering};

/// Time constant: without a sample, the estimate falls to 1/e in this many seconds.
const DECAY_SECONDS: f64 = 30.0;
/// The estimate and its time share one word; the time is counted in ticks of this many
/// microseconds, which lasts two years.
const TICK: u64 = 1 << 14;

/// Seconds as `f32` in the upper half, ticks in the lower; 0 means no sample.
#[derive(Debug, Default)]
pub(super) struct PeakEwma(AtomicU64);

impl PeakEwma {
    pub(super) fn add(&self, seconds: f64, moment: u64) {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let (estimate, then) = parts(word);
            let kept = decay(then, moment);
            let next = if seconds > estimate {
                seconds
            } else {
                estimate * kept + seconds * (1.0 - kept)
            };
            let next = word_of(next, moment);
            let swap =
                self.0
                    .compare_exchange_weak(word, next, Ordering::Relaxed, Ordering::Relaxed);
            match swap {
                Ok(_) => return,
                Err(newer) => word = newer,
            }
        }
    }

    pub(super) fn read(&self, moment: u64) -> f64 {
        let (estimate, then) = parts(self.0.load(Ordering::Relaxed));
        estimate * decay(then, moment)
    }
}

fn word_of(seconds: f64, moment: u64) -> u64 {
    let ticks = u32::try_from(moment / TICK).unwrap_or(u32::MAX);
    u64::from((seconds as f32).to_bits()) << 32 | u64::from(ticks)
}

fn parts(word: u64) -> (f64, u64) {
    let seconds = f32::from_bits((word >> 32) as u32);
    (f64::from(seconds), u64::from(word as u32) * TICK)
}

/// The share of an estimate that remains after the time between two moments.
fn decay(then: u64, now: u64) -> f64 {
    let seconds = now.saturating_sub(then) as f64 / 1e6;
    (-seconds / DECAY_SECONDS).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    #[test]
    fn peaks_are_adopted_at_once_and_improvements_slowly() {
        let peak = PeakEwma::default();
        peak.add(1.0, 10 * SECOND);
        peak.add(5.0, 10 * SECOND);
        assert!((peak.read(10 * SECOND) - 5.0).abs() < 0.01);
        peak.add(1.0, 11 * SECOND);
        let after = peak.read(11 * SECOND);
        assert!(after > 4.5 && after < 5.0, "{after}");
    }

    #[test]
    fn without_samples_the_estimate_decays() {
        let peak = PeakEwma::default();
        assert_eq!(peak.read(SECOND), 0.0);
        peak.add(5.0, SECOND);
        let later = peak.read(31 * SECOND);
        assert!((later - 5.0 / std::f64::consts::E).abs() < 0.01, "{later}");
    }
}
