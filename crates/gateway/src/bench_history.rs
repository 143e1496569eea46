//! The benches of the last day, for the operator's page.
//!
//! An observer of the registry's health. Bounded in subjects and in benches per subject. Keeps
//! the class and status of the cause, never a provider's text. May use `clock`.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use majordomo::observe::{Notice, Observer};

use crate::clock::wall_clock;

/// How long a bench is kept.
pub(crate) const HISTORY: Duration = Duration::from_secs(24 * 60 * 60);
/// Benches per subject.
const MOST_BENCHES: usize = 128;
/// Targets and credentials; clients can name any.
const MOST_SUBJECTS: usize = 512;

/// Benches by target or credential.
#[derive(Default)]
pub(crate) struct BenchHistory(Mutex<HashMap<String, VecDeque<PastBench>>>);

/// A bench that may have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PastBench {
    pub(crate) start: SystemTime,
    /// When it ended, or will end.
    pub(crate) end: SystemTime,
    /// Such as `HTTP 429, rate limited`.
    pub(crate) cause: String,
}

impl BenchHistory {
    /// The benches of a subject in the last day, oldest first.
    pub(crate) fn of(&self, subject: &str, now: SystemTime) -> Vec<PastBench> {
        let oldest = now.checked_sub(HISTORY).unwrap_or(SystemTime::UNIX_EPOCH);
        let subjects = self.subjects();
        let benches = subjects.get(subject).into_iter().flatten();
        benches
            .filter(|bench| bench.end > oldest)
            .cloned()
            .collect()
    }

    fn benched(&self, subject: &str, now: SystemTime, wait: Duration, cause: &str) {
        let mut subjects = self.subjects();
        if subjects.len() >= MOST_SUBJECTS && !subjects.contains_key(subject) {
            return;
        }
        let benches = subjects.entry(subject.to_owned()).or_default();
        let end = now.checked_add(wait).unwrap_or(now);
        match benches.back_mut() {
            // The same bench grew longer.
            Some(last) if last.end >= now => last.end = last.end.max(end),
            _ => benches.push_back(PastBench {
                start: now,
                end,
                cause: cause.to_owned(),
            }),
        }
        if benches.len() > MOST_BENCHES {
            benches.pop_front();
        }
    }

    fn recovered(&self, subject: &str, now: SystemTime) {
        let mut subjects = self.subjects();
        if let Some(last) = subjects.get_mut(subject).and_then(VecDeque::back_mut) {
            last.end = last.end.min(now);
        }
    }

    fn subjects(&self) -> MutexGuard<'_, HashMap<String, VecDeque<PastBench>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for BenchHistory {
    fn notice(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Benched {
                subject,
                wait,
                cause,
            } => self.benched(subject, wall_clock(), *wait, &cause.to_string()),
            Notice::Recovered { subject } => self.recovered(subject, wall_clock()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds)
    }

    #[test]
    fn a_bench_ends_when_the_target_recovers() {
        let history = BenchHistory::default();
        history.benched("a/x", at(0), Duration::from_secs(60), "HTTP 500");
        history.recovered("a/x", at(20));
        history.benched("a/x", at(100), Duration::from_secs(5), "HTTP 429");
        let benches = history.of("a/x", at(200));
        let spans: Vec<_> = benches.iter().map(|it| (it.start, it.end)).collect();
        assert_eq!(spans, [(at(0), at(20)), (at(100), at(105))]);
        assert!(history.of("b/y", at(200)).is_empty());
    }

    #[test]
    fn a_bench_that_grows_is_one_bench() {
        let history = BenchHistory::default();
        history.benched("a/x", at(0), Duration::from_secs(60), "HTTP 429");
        history.benched("a/x", at(10), Duration::from_secs(300), "HTTP 429");
        let benches = history.of("a/x", at(20));
        assert_eq!(benches.len(), 1);
        assert_eq!((benches[0].start, benches[0].end), (at(0), at(310)));
    }

    #[test]
    fn after_a_day_a_bench_is_forgotten() {
        let history = BenchHistory::default();
        history.benched("a/x", at(0), Duration::from_secs(60), "HTTP 500");
        let day = HISTORY.as_secs();
        assert_eq!(history.of("a/x", at(day)).len(), 1);
        assert!(history.of("a/x", at(day + 61)).is_empty());
    }

    #[test]
    fn subjects_and_benches_are_bounded() {
        let history = BenchHistory::default();
        for n in 0..MOST_SUBJECTS as u64 + 5 {
            history.benched(&n.to_string(), at(n), Duration::from_secs(1), "");
        }
        assert_eq!(history.subjects().len(), MOST_SUBJECTS);
        for n in 0..1_000 {
            history.benched("0", at(10_000 + n * 10), Duration::from_secs(1), "");
        }
        assert_eq!(history.subjects()["0"].len(), MOST_BENCHES);
    }
}
