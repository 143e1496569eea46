//! The charge of a call: how its tokens are known, and what they cost.

use majordomo_ledger::{Cost, SettleClass};

use super::{UpstreamCall, UsageSource};

/// Settles calls, at the prices of their start.
pub(crate) fn charge(calls: &mut [UpstreamCall]) {
    for call in calls {
        (call.settle, call.cost) = settled(call);
    }
}

/// How a call is settled, and what it costs; `None` if its price is unknown.
fn settled(call: &UpstreamCall) -> (SettleClass, Option<Cost>) {
    let class = match (settle(call.usage_source), call.client_paid) {
        (SettleClass::Free, _) => SettleClass::Free,
        (_, true) => SettleClass::ClientPaid,
        (known, false) => known,
    };
    let cost = match (class, &call.price) {
        (SettleClass::Free | SettleClass::ClientPaid, _) => Some(Cost::ZERO),
        (_, price) => {
            let used = call.quantities();
            price.as_ref().and_then(|price| price.cost(&used))
        }
    };
    (class, cost)
}

/// The cost of a call that has ended, or `None` if its price is unknown.
pub(crate) fn cost_of(call: &UpstreamCall) -> Option<Cost> {
    settled(call).1
}

/// The cost of all calls, or `None` if one of them has no known price.
pub(crate) fn total(calls: &[UpstreamCall]) -> Option<Cost> {
    calls.iter().map(|call| call.cost).sum::<Option<Cost>>()
}

/// How a call is settled. A call whose usage is unknown was refused before a model ran.
fn settle(source: UsageSource) -> SettleClass {
    match source {
        UsageSource::Reported => SettleClass::Reported,
        UsageSource::Partial => SettleClass::Partial,
        UsageSource::Estimated => SettleClass::Estimated,
        UsageSource::Unknown => SettleClass::Free,
    }
}
