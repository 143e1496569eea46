//! The current demand on a budget, which determines the next lease.

use std::time::Duration;

use crate::policy::Nanodollars;

/// The time whose spending a slice should cover.
const SLICE: Duration = Duration::from_secs(2);

/// Reservations of the last two seconds, and those that wait for a lease.
///
/// A refused reservation does not count as demand: a lease for it would be useless here and
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

    /// A reservation waits for the requested lease.
    pub(super) fn waits(&mut self, amount: Nanodollars) {
        self.waiting = self.waiting.plus(amount);
    }

    /// The amount that the next lease should cover. Waiting reservations are covered once.
    pub(super) fn take(&mut self) -> Nanodollars {
        let waiting = std::mem::take(&mut self.waiting);
        self.recent().max(waiting)
    }

    /// Recent reservations.
    pub(super) fn recent(&self) -> Nanodollars {
        self.current.max(self.previous)
    }
}
