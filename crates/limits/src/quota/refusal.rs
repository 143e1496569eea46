//! Why a request or an attempt is refused.

use std::time::Duration;

use super::level_id::LevelId;
use crate::policy::{BudgetWindow, Nanodollars, WhenExhausted};

/// A refusal names the level, the limit and the time of its end. No state has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The level whose limit it is.
    pub level: LevelId,
    /// Which limit.
    pub limit: RefusedBy,
    /// How long to wait, if that helps.
    pub retry_after: Option<Duration>,
}

/// The limit that refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusedBy {
    /// Requests per minute.
    Requests(u64),
    /// Tokens per minute.
    Tokens(u64),
    /// Concurrent requests.
    Concurrent(u64),
    /// A budget that does not cover the request.
    Budget {
        /// The window.
        window: BudgetWindow,
        /// The first day of the next window; `None` if there is none.
        reset_day: Option<i64>,
        /// The budget.
        limit: Nanodollars,
        /// The amount that could still be reserved.
        left: Nanodollars,
        /// The configured action.
        when_exhausted: WhenExhausted,
    },
    /// A budget applies and the price is unknown.
    Unpriced,
    /// The store of a budget cannot be reached.
    Unreachable(BudgetWindow),
}

impl Refusal {
    /// Whether waiting helps: a rate, not money.
    pub fn is_rate(&self) -> bool {
        matches!(
            self.limit,
            RefusedBy::Requests(_) | RefusedBy::Tokens(_) | RefusedBy::Concurrent(_)
        )
    }
}
