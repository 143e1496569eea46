//! The figures of an account.

use std::collections::VecDeque;
use std::time::Duration;

use super::alert::AlertSteps;
use super::demand::Demand;
use crate::policy::Nanodollars;

/// What this node knows of an account, behind its lock.
#[derive(Default)]
pub(super) struct AccountState {
    /// Ids and amounts, oldest first.
    pub(super) leases: VecDeque<(i64, Nanodollars)>,
    /// The sum of the leases.
    pub(super) leased: Nanodollars,
    /// What was settled and is not part of a closed lease.
    pub(super) spent: Nanodollars,
    /// The sum of the live reservations.
    pub(super) open: Nanodollars,
    pub(super) reservations: u64,
    /// Taken by others, or by leases of ours that are closed.
    pub(super) elsewhere: Nanodollars,
    /// Whether the backend has granted or refused a lease.
    pub(super) known: bool,
    /// How often the backend replied.
    pub(super) replies: u64,
    /// The lease that is being asked for.
    pub(super) asked: Option<Asked>,
    /// The backend is not asked before for more than it is known to have.
    pub(super) dry_until: Duration,
    /// The backend could not be reached and is not asked before.
    pub(super) down_until: Option<Duration>,
    pub(super) last_used: Duration,
    pub(super) demand: Demand,
    pub(super) alerted: AlertSteps,
    /// Nothing is reserved any more; leases are closed with the last reservation.
    pub(super) retired: bool,
}

/// A lease that is being asked for.
pub(super) struct Asked {
    pub(super) at: Duration,
    pub(super) amount: Nanodollars,
    pub(super) leased: Nanodollars,
    /// Settled in leases closed since.
    pub(super) closed: Nanodollars,
}

impl AccountState {
    /// Whether a question to the backend may be answered.
    pub(super) fn may_ask(&self, now: Duration) -> bool {
        let down = self.down_until.is_some_and(|until| now < until);
        self.asked.is_none() && !self.retired && !down
    }

    pub(super) fn available(&self) -> Nanodollars {
        self.leased.minus(self.open.plus(self.spent))
    }

    /// Settled by all nodes, as of the last grant, and by this one since.
    pub(super) fn settled(&self) -> Nanodollars {
        self.elsewhere.plus(self.spent)
    }

    /// Less than half of what two seconds take is left.
    pub(super) fn is_low(&self) -> bool {
        self.available().0 < self.demand.recent().0 / 2
    }
}
