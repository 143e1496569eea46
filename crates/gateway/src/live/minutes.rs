//! Requests, errors and cost per minute of the last hour.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use majordomo_ledger::Cost;

use crate::outcome::RequestOutcome;
use crate::record::{FinishedRequest, unix_millis};

/// Minutes that are kept.
pub(crate) const KEPT: usize = 60;

/// A ring of minutes. A late writer may add to a slot while another one resets it, which
/// misplaces one request in a chart.
pub(crate) struct Minutes([MinuteSlot; KEPT]);

#[derive(Default)]
struct MinuteSlot {
    /// Minutes since the Unix epoch.
    minute: AtomicI64,
    requests: AtomicU64,
    errors: AtomicU64,
    cost: AtomicU64,
}

/// The figures of one minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MinuteFigures {
    /// Minutes since the Unix epoch.
    pub(crate) minute: i64,
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    /// In nanodollars; calls without a known price are missing.
    pub(crate) cost: u64,
}

impl Default for Minutes {
    fn default() -> Self {
        Self(std::array::from_fn(|_| MinuteSlot::default()))
    }
}

impl Minutes {
    /// Counts a request in the minute in which it ended.
    pub(super) fn add(&self, record: &FinishedRequest) {
        let failed = match record.outcome {
            RequestOutcome::Complete | RequestOutcome::ClientGone => false,
            RequestOutcome::Failed | RequestOutcome::Interrupted => true,
        };
        let ended = unix_millis(record.arrived + record.took);
        self.count(ended, failed, record.cost());
    }

    fn count(&self, unix_millis: i64, failed: bool, cost: Option<Cost>) {
        let minute = unix_millis.div_euclid(60_000);
        let slot = self.slot(minute);
        let known = slot.minute.load(Ordering::Relaxed);
        if known < minute
            && let Ok(_) =
                slot.minute
                    .compare_exchange(known, minute, Ordering::Relaxed, Ordering::Relaxed)
        {
            for figure in [&slot.requests, &slot.errors, &slot.cost] {
                figure.store(0, Ordering::Relaxed);
            }
        }
        // If the clock was set back, the existing minute is used.
        slot.requests.fetch_add(1, Ordering::Relaxed);
        slot.errors.fetch_add(u64::from(failed), Ordering::Relaxed);
        let cost = cost.map_or(0, |cost| u64::try_from(cost.nanodollars()).unwrap_or(0));
        slot.cost.fetch_add(cost, Ordering::Relaxed);
    }

    /// The minutes up to now, oldest first, without gaps.
    pub(crate) fn until(&self, unix_millis: i64) -> Vec<MinuteFigures> {
        let last = unix_millis.div_euclid(60_000);
        let minutes = (0..KEPT as i64).rev().map(|ago| last - ago);
        minutes.map(|minute| self.figures(minute)).collect()
    }

    fn figures(&self, minute: i64) -> MinuteFigures {
        let slot = self.slot(minute);
        if slot.minute.load(Ordering::Relaxed) != minute {
            return MinuteFigures {
                minute,
                ..MinuteFigures::default()
            };
        }
        MinuteFigures {
            minute,
            requests: slot.requests.load(Ordering::Relaxed),
            errors: slot.errors.load(Ordering::Relaxed),
            cost: slot.cost.load(Ordering::Relaxed),
        }
    }

    fn slot(&self, minute: i64) -> &MinuteSlot {
        &self.0[minute.rem_euclid(KEPT as i64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000;

    #[test]
    fn a_minute_is_counted_and_forgotten_after_an_hour() {
        let minutes = Minutes::default();
        let start = 29_000_000 * MINUTE;
        minutes.count(start, false, None);
        minutes.count(start + 59_999, true, None);
        minutes.count(start + 2 * MINUTE, false, None);
        let seen = minutes.until(start + 2 * MINUTE);
        assert_eq!(seen.len(), KEPT);
        let last: Vec<_> = seen
            .iter()
            .rev()
            .map(|it| (it.requests, it.errors))
            .take(3)
            .collect();
        assert_eq!(last, [(1, 0), (0, 0), (2, 1)]);
        let later = minutes.until(start + 62 * MINUTE);
        assert!(later.iter().all(|figures| figures.requests == 0));
        minutes.count(start + 60 * MINUTE, false, None);
        let seen = minutes.until(start + 60 * MINUTE);
        assert_eq!(
            seen[KEPT - 1].requests,
            1,
            "the slot of an hour ago starts anew"
        );
    }
}
