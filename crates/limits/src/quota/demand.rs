//! How much of a budget is being used: the measure of the next lease.

use std::time::Duration;

use crate::policy::Nanodollars;

/// The time whose spending a slice should cover.
const SLICE: Duration = Duration::from_secs(2);

/// Reservations of the last two seconds, and those that wait for a lease.
///
/// A reservation that is refused is no demand: a lease for it would be of no use to it and
/// missing elsewhere.
#[derive(Default)]
pub(super) struct Demand {
    since: Duration,
    current: Nanodollars,
    previous: Nanodollars,
    waiting: Nanodollars,
}

impl Demand {
    /// A reservation was held.
    pub(super) fn held(&mut self, now: Duration, amount: Nanodollars) {
        let age = now.saturating_sub(self.since);
        if age >= SLICE {
            self.previous = if age < 2 * SLICE {
                self.current
            } else {
                Nanodollars::ZERO
            };
            self.current = Nanodollars::ZERO;
            self.since = now;
        }
        self.current = self.current.plus(amount);
    }

    /// A reservation waits for the lease that is being asked for.
    pub(super) fn waits(&mut self, amount: Nanodollars) {
        self.waiting = self.waiting.plus(amount);
    }

    /// What the next lease should cover. Those who wait are covered once.
    pub(super) fn take(&mut self) -> Nanodollars {
        let waiting = std::mem::take(&mut self.waiting);
        self.recent().max(waiting)
    }

    /// What was held lately.
    pub(super) fn recent(&self) -> Nanodollars {
        self.current.max(self.previous)
    }
}
