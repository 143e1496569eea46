//! Calls per target since the start: success, time to first token, speed, cached input.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use crate::record::{CallOutcome, UpstreamCall};

/// Targets that are kept; clients can name any.
const MOST_TARGETS: usize = 1_024;
/// Samples per target, for the percentiles.
const SAMPLES: usize = 128;

/// Figures by target.
#[derive(Default)]
pub(crate) struct TargetCalls(RwLock<HashMap<String, Arc<Mutex<CallFigures>>>>);

#[derive(Default)]
struct CallFigures {
    served: u64,
    ended: u64,
    input: u64,
    cached: u64,
    /// Of the latest streams: time to first token, and output tokens per second after it.
    samples: VecDeque<(Duration, Option<f64>)>,
}

/// Statistics of a target's calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TargetFigures {
    pub(crate) served: u64,
    /// Calls that ended by themselves; cancelled ones say nothing about a target.
    pub(crate) ended: u64,
    pub(crate) input: u64,
    pub(crate) cached: u64,
    /// Median and 95th percentile.
    pub(crate) first_token: Option<(Duration, Duration)>,
    /// Median of output tokens per second.
    pub(crate) speed: Option<f64>,
}

impl TargetCalls {
    pub(super) fn count(&self, calls: &[UpstreamCall]) {
        for call in calls {
            if let Some(figures) = self.figures(&call.target) {
                lock(&figures).count(call);
            }
        }
    }

    /// The figures of a target, if it was called.
    pub(crate) fn of(&self, target: &str) -> Option<TargetFigures> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let figures = Arc::clone(known.get(target)?);
        drop(known);
        let figures = lock(&figures);
        Some(figures.summary())
    }

    fn figures(&self, target: &str) -> Option<Arc<Mutex<CallFigures>>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(figures) = known.get(target) {
            return Some(Arc::clone(figures));
        }
        drop(known);
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_TARGETS && !known.contains_key(target) {
            return None;
        }
        Some(Arc::clone(known.entry(target.to_owned()).or_default()))
    }
}

fn lock(figures: &Mutex<CallFigures>) -> MutexGuard<'_, CallFigures> {
    figures.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CallFigures {
    fn count(&mut self, call: &UpstreamCall) {
        self.served += u64::from(call.outcome == CallOutcome::Served);
        self.ended += u64::from(call.outcome != CallOutcome::Cancelled);
        if call.outcome != CallOutcome::Served {
            return;
        }
        let usage = &call.usage;
        self.input += usage.input;
        self.cached += usage.cache_read;
        if let Some(first) = call.first_token {
            let after = call.took.saturating_sub(first).as_secs_f64();
            let speed = (after > 0.0).then(|| usage.output as f64 / after);
            self.samples.push_back((first, speed));
            if self.samples.len() > SAMPLES {
                self.samples.pop_front();
            }
        }
    }

    fn summary(&self) -> TargetFigures {
        let mut first: Vec<Duration> = self.samples.iter().map(|(first, _)| *first).collect();
        first.sort_unstable();
        let mut speed: Vec<f64> = self
            .samples
            .iter()
            .filter_map(|(_, speed)| *speed)
            .collect();
        speed.sort_unstable_by(f64::total_cmp);
        TargetFigures {
            served: self.served,
            ended: self.ended,
            input: self.input,
            cached: self.cached,
            first_token: at(&first, 50).zip(at(&first, 95)),
            speed: at(&speed, 50),
        }
    }
}

/// A percentile of sorted samples, by nearest rank.
fn at<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_taken_by_nearest_rank() {
        let hundred: Vec<usize> = (1..=100).collect();
        assert_eq!(at(&hundred, 50), Some(50));
        assert_eq!(at(&hundred, 95), Some(95));
        assert_eq!(at(&[7], 95), Some(7));
        assert_eq!(at::<usize>(&[], 50), None);
    }

    #[test]
    fn invented_targets_beyond_the_limit_are_not_kept() {
        let calls = TargetCalls::default();
        for n in 0..MOST_TARGETS + 10 {
            let _ = calls.figures(&n.to_string());
        }
        assert!(calls.of("5").is_some());
        assert!(calls.of(&(MOST_TARGETS + 5).to_string()).is_none());
    }
}
