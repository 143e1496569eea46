//! The remaining limits of a caller, as JSON, for the caller itself.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use majordomo_limits::{BudgetUsage, RateState};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};

use super::alerts::usd;
use super::caller::CallerLimits;
use crate::clock::wall_clock;

/// The remainder of the tightest rates and of every budget, and when each resets. Without its
/// store, a budget shows only this process's use.
pub(crate) async fn remaining(caller: &CallerLimits) -> Map<String, Value> {
    let stack = caller.stack();
    let until = Instant::now() + caller.quotas.longest_wait;
    for wait in stack.look(caller.now()) {
        let _ = timeout_at(until, wait.replied()).await;
    }
    let now = caller.now();
    let mut view = Map::new();
    for (name, rate) in ["requests", "tokens"]
        .into_iter()
        .zip(stack.rates(now.monotonic))
    {
        if let Some(rate) = rate {
            view.insert(name.to_owned(), of_rate(&rate));
        }
    }
    let budgets = stack.budgets(now);
    if !budgets.is_empty() {
        let budgets = budgets.iter().map(|usage| of_budget(usage, caller));
        view.insert("budgets".to_owned(), budgets.collect());
    }
    view
}

fn of_rate(rate: &RateState) -> Value {
    json!({
        "limit": rate.limit,
        "remaining": rate.remaining,
        "resets": wall_clock().checked_add(rate.reset).map(timestamp),
    })
}

fn of_budget(usage: &BudgetUsage, caller: &CallerLimits) -> Value {
    let left = usage.limit.minus(usage.settled.plus(usage.reserved));
    let reset = usage.reset_day.map(|day| caller.start_of(day));
    let reset = reset.and_then(|millis| u64::try_from(millis).ok());
    let reset = reset.and_then(|millis| UNIX_EPOCH.checked_add(Duration::from_millis(millis)));
    json!({
        "level": usage.level.kind.name(),
        "window": usage.window.name(),
        "limit_usd": usd(usage.limit).to_string(),
        "used_usd": usd(usage.settled).to_string(),
        "reserved_usd": usd(usage.reserved).to_string(),
        "remaining_usd": usd(left).to_string(),
        "resets": reset.map(timestamp),
    })
}

fn timestamp(time: SystemTime) -> String {
    // Beyond the year 9999 there is no format.
    let latest = UNIX_EPOCH + Duration::from_secs(253_402_300_799);
    humantime::format_rfc3339_seconds(time.min(latest)).to_string()
}
