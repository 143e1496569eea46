//! The figures of an account.

use std::collections::VecDeque;
use std::time::Duration;

use super::alert::AlertSteps;
use super::demand::Demand;
use crate::policy::Nanodollars;

/// This node's state of an account, behind its lock.
#[derive(Default)]
pub(super) struct AccountState {
    /// Ids and amounts, oldest first.
    pub(super) leases: VecDeque<(i64, Nanodollars)>,
    /// The sum of the leases.
    pub(super) leased: Nanodollars,
    /// The settled amount that is not part of a closed lease.
    pub(super) spent: Nanodollars,
    /// The sum of the live reservations.
    pub(super) open: Nanodollars,
    pub(super) reservations: u64,
    /// Taken by other nodes, or by closed leases of this one.
    pub(super) elsewhere: Nanodollars,
    /// Whether the backend has granted or refused a lease.
    pub(super) known: bool,
    /// The number of the backend's replies.
    pub(super) replies: u64,
    /// The lease that has been requested.
    pub(super) asked: Option<Asked>,
    /// Until then, no request exceeds what the backend is known to have.
    pub(super) dry_until: Duration,
    /// Until then, the backend gets no request, because it could not be reached.
    pub(super) down_until: Option<Duration>,
    pub(super) last_used: Duration,
    pub(super) demand: Demand,
    pub(super) alerted: AlertSteps,
    /// No further reservations are made; leases are closed with the last reservation.
    pub(super) retired: bool,
}

/// A lease that has been requested.
pub(super) struct Asked {
    pub(super) at: Duration,
    pub(super) amount: Nanodollars,
    pub(super) leased: Nanodollars,
    /// The amount settled in leases that have been closed since.
    pub(super) closed: Nanodollars,
}

impl AccountState {
    /// Whether the backend may be asked.
    pub(super) fn may_ask(&self, now: Duration) -> bool {
        let down = self.down_until.is_some_and(|until| now < until);
        self.asked.is_none() && !self.retired && !down
    }

    pub(super) fn available(&self) -> Nanodollars {
        self.leased.minus(self.open.plus(self.spent))
    }

    /// The amount settled by all nodes until the last grant, and by this node since.
    pub(super) fn settled(&self) -> Nanodollars {
        self.elsewhere.plus(self.spent)
    }

    /// Less than half of two seconds' spending is left.
    pub(super) fn is_low(&self) -> bool {
        self.available().0 < self.demand.recent().0 / 2
    }
}
