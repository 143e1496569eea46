//! Leases: slices of a budget that this node may spend without asking again.
//!
//! Every backend guarantees settled + leased ≤ limit at every moment, over all nodes. A lease
//! counts as spent until it is closed, so a node that dies can waste a slice but never
//! overspend.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::account::Account;
use super::level_id::LevelId;
use crate::policy::Nanodollars;

/// A slice wanted from a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseAsk {
    /// The budget, such as `key/laptop/day`.
    pub budget: Arc<str>,
    /// The window's number, which increases over time.
    pub window: i64,
    /// The whole budget; [`Nanodollars::MAX`] if spending is only counted.
    pub limit: Nanodollars,
    /// The slice. Less is granted if less is left.
    pub amount: Nanodollars,
    /// The minimum that is useful. Nothing is granted if less is left.
    pub least: Nanodollars,
    /// Set until the store has replied once: for a new budget, earlier usage counts.
    pub opening: Option<BudgetOpening>,
}

/// The usage with which a new budget begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetOpening {
    /// The level whose usage counts.
    pub level: LevelId,
    /// The first local day of the window; `None` if it has no beginning.
    pub since_day: Option<i64>,
}

impl LeaseAsk {
    /// The amount to grant if that much is taken.
    pub fn granted_of(&self, taken: Nanodollars) -> Nanodollars {
        let left = self.limit.minus(taken);
        if left < self.least {
            return Nanodollars::ZERO;
        }
        self.amount.min(left)
    }
}

/// A grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseGrant {
    /// Identifies the lease in its store.
    pub id: i64,
    /// The amount that may be spent; zero if nothing is left.
    pub amount: Nanodollars,
    /// The amount settled or leased before, by all nodes.
    pub taken: Nanodollars,
}

/// A closed lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedLease {
    /// The lease's id.
    pub id: i64,
    /// The budget.
    pub budget: Arc<str>,
    /// The window.
    pub window: i64,
    /// The leased amount.
    pub amount: Nanodollars,
    /// The spent amount; the remainder is released. Exceeds the lease if an estimate was too
    /// low.
    pub spent: Nanodollars,
}

/// Keeps budgets, for this process or for many.
///
/// Operations of one node take effect in the order of the calls. They must not block: a store
/// is queried elsewhere, and the reply follows later.
pub trait LeaseBackend: Send + Sync {
    /// Grants a lease and replies, now or later.
    fn grant(&self, ask: LeaseAsk, reply: LeaseReply);

    /// Ends a lease.
    fn close(&self, lease: ClosedLease);

    /// How many nodes share the budgets.
    fn nodes(&self) -> u64 {
        1
    }
}

/// Receives a grant. Dropping it reports that the store cannot be reached.
pub struct LeaseReply {
    account: Option<Arc<Account>>,
}

impl LeaseReply {
    pub(crate) fn to(account: Arc<Account>) -> Self {
        Self {
            account: Some(account),
        }
    }

    /// Delivers what was granted.
    pub fn granted(mut self, grant: LeaseGrant) {
        if let Some(account) = self.account.take() {
            account.granted(Some(grant));
        }
    }
}

impl Drop for LeaseReply {
    fn drop(&mut self) {
        if let Some(account) = self.account.take() {
            account.granted(None);
        }
    }
}

/// Budgets in memory, which start over with the process.
#[derive(Default)]
pub struct MemoryLeases {
    windows: Mutex<BTreeMap<Arc<str>, BTreeMap<i64, WindowSums>>>,
}

#[derive(Default)]
struct WindowSums {
    settled: Nanodollars,
    leased: Nanodollars,
    open: u64,
}

impl MemoryLeases {
    /// The settled and leased amounts of a budget's window.
    pub fn sums(&self, budget: &str, window: i64) -> (Nanodollars, Nanodollars) {
        let windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let sums = windows.get(budget).and_then(|all| all.get(&window));
        sums.map_or_else(Default::default, |sums| (sums.settled, sums.leased))
    }
}

impl LeaseBackend for MemoryLeases {
    fn grant(&self, ask: LeaseAsk, reply: LeaseReply) {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let windows_of = windows.entry(Arc::clone(&ask.budget)).or_default();
        // Past windows are not needed once their leases are closed.
        windows_of.retain(|number, sums| *number >= ask.window || sums.open > 0);
        let sums = windows_of.entry(ask.window).or_default();
        let taken = sums.settled.plus(sums.leased);
        let amount = ask.granted_of(taken);
        if amount > Nanodollars::ZERO {
            sums.leased = sums.leased.plus(amount);
            sums.open += 1;
        }
        drop(windows);
        reply.granted(LeaseGrant {
            id: 0,
            amount,
            taken,
        });
    }

    fn close(&self, lease: ClosedLease) {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let windows_of = windows.entry(lease.budget).or_default();
        let sums = windows_of.entry(lease.window).or_default();
        sums.leased = sums.leased.minus(lease.amount);
        sums.settled = sums.settled.plus(lease.spent);
        sums.open = sums.open.saturating_sub(1);
    }
}
