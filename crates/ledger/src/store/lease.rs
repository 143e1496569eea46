//! Leases: slices of a budget that a node may spend without asking again.

use std::sync::Arc;

use crate::money::Cost;

/// A slice wanted from a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRequest {
    /// The budget, such as `key/laptop/day`.
    pub budget: Arc<str>,
    /// The window's number. Numbers grow: a clock that jumps back never reopens one.
    pub window: i64,
    /// The node that asks.
    pub node: Arc<str>,
    /// The whole budget.
    pub limit: Cost,
    /// The slice. Less is granted if less is left.
    pub amount: Cost,
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
    /// What may be spent.
    pub amount: Cost,
}
