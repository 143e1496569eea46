//! Limits as JSON, with the names of the configuration.

use majordomo_ledger::Cost;
use majordomo_limits::{
    BudgetWindow, LimitPolicy, Nanodollars, TrafficLimits, UnpricedPolicy, WhenExhausted,
};
use serde_json::{Map, Value, json};

/// Adds the limits of an entry to its view, without those that are not set.
pub(crate) fn add_policy(view: &mut Map<String, Value>, policy: &LimitPolicy) {
    let TrafficLimits {
        requests_per_minute,
        tokens_per_minute,
        concurrent,
        queue,
    } = policy.traffic;
    let queue = queue.map(|time| humantime::format_duration(time).to_string());
    let limits = object([
        ("requests_per_minute", json!(requests_per_minute)),
        ("tokens_per_minute", json!(tokens_per_minute)),
        ("concurrent", json!(concurrent)),
        ("queue", json!(queue)),
    ]);
    let budget = BudgetWindow::ALL.map(|window| {
        let amount = policy.budget.of(window).map(dollars);
        (window.name(), json!(amount))
    });
    let when = match &policy.when_exhausted {
        WhenExhausted::Clamp => Some("clamp".to_owned()),
        WhenExhausted::Warn => Some("warn".to_owned()),
        WhenExhausted::Spec(spec) => Some(format!("spec:{spec}")),
        _ => None,
    };
    let unpriced = (policy.unpriced == UnpricedPolicy::Allow).then_some("allow");
    let settings = [
        ("limits", Value::from(limits)),
        ("budget", Value::from(object(budget))),
        ("when_exhausted", json!(when)),
        ("unpriced", json!(unpriced)),
    ];
    let is_set = |value: &Value| match value {
        Value::Object(fields) => !fields.is_empty(),
        value => !value.is_null(),
    };
    let set = settings.into_iter().filter(|(_, value)| is_set(value));
    view.extend(set.map(|(name, value)| (name.to_owned(), value)));
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    let set = fields.into_iter().filter(|(_, value)| !value.is_null());
    set.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// An amount, formatted as in the configuration.
fn dollars(amount: Nanodollars) -> String {
    let nanodollars = i64::try_from(amount.0).unwrap_or(i64::MAX);
    let amount = Cost::from_nanodollars(nanodollars).to_string();
    format!("{} USD", amount.strip_suffix(".00").unwrap_or(&amount))
}
