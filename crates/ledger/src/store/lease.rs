//! Leases: slices of a budget that a node may spend without asking again.

use std::sync::Arc;

use crate::money::Cost;

/// A slice wanted from a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRequest {
    /// The budget, such as `key/laptop/day`.
    pub budget: Arc<str>,
    /// The window's number. Numbers increase, so a clock that jumps back never reopens a
    /// window.
    pub window: i64,
    /// The whole budget.
    pub limit: Cost,
    /// The slice. Less is granted if less is left.
    pub amount: Cost,
    /// The minimum that is useful. Nothing is granted if less is left.
    pub least: Cost,
    /// The usage with which a window begins if neither it nor the previous one has a lease.
    /// `None` if it begins with zero.
    pub opening: Option<Opening>,
}

/// The usage with which a new budget begins: a key may have been used before it had a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The party whose usage counts.
    pub payer: Payer,
    /// From this Unix time on, in milliseconds, rounded down to a quarter hour.
    pub since_millis: i64,
}

/// The party whose usage a budget limits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Payer {
    /// All requests.
    Everyone,
    /// A team's.
    Team(Arc<str>),
    /// A key's.
    Key(Arc<str>),
}

impl Payer {
    /// The column of the rollups and the name in it; `None` for everyone.
    pub(super) fn column(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Everyone => None,
            Self::Team(name) => Some(("team", name)),
            Self::Key(name) => Some(("key", name)),
        }
    }
}

impl LeaseRequest {
    /// The amount to grant if that much is taken.
    pub(super) fn granted_of(&self, taken: Cost) -> Option<Cost> {
        let left = self.limit - taken;
        let amount = self.amount.min(left);
        (amount > Cost::ZERO && left >= self.least).then_some(amount)
    }
}

/// The reply to a request for a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseDecision {
    /// The lease, unless too little is left.
    pub lease: Option<Lease>,
    /// The amount of the window that was settled or leased before, by all nodes.
    pub taken: Cost,
}

/// A granted slice. Until it is closed it counts as spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Identifies the lease in its store.
    pub id: i64,
    /// The budget.
    pub budget: Arc<str>,
    /// The window.
    pub window: i64,
    /// The amount that may be spent.
    pub amount: Cost,
}
