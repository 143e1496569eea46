//! The use of budgets, for the operator's reports.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use majordomo_limits::{BudgetUsage, BudgetWindow};
use tokio::time::{Instant, timeout_at};

use super::caller::CallerLimits;

/// The timeout for reading the use of budgets from the store.
const WAIT: Duration = Duration::from_millis(250);

/// A budget in its current window.
pub(crate) struct BudgetState {
    /// The used amount.
    pub(crate) usage: BudgetUsage,
    /// When the window began, in milliseconds of Unix time; `None` if it has no beginning.
    pub(crate) since_millis: Option<i64>,
    /// When it ends.
    pub(crate) until_millis: Option<i64>,
}

/// The budgets of some callers, each once. Without its store, a budget shows what this
/// process has used.
pub(crate) async fn budget_states(callers: &[Arc<CallerLimits>]) -> Vec<BudgetState> {
    let until = Instant::now() + WAIT;
    for caller in callers {
        for wait in caller.stack().look(caller.now()) {
            let _ = timeout_at(until, wait.replied()).await;
        }
    }
    let mut states = BTreeMap::new();
    for caller in callers {
        let now = caller.now();
        for usage in caller.stack().budgets(now) {
            let name = (usage.level.kind.name(), usage.level.name.clone());
            let window = usage.window;
            let since = match window {
                BudgetWindow::Total => None,
                window => window.start_day(window.number(now.day)),
            };
            let state = BudgetState {
                since_millis: since.map(|day| caller.start_of(day)),
                until_millis: usage.reset_day.map(|day| caller.start_of(day)),
                usage,
            };
            states.insert((name, window.name()), state);
        }
    }
    states.into_values().collect()
}
