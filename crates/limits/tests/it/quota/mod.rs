//! Rates, budgets and levels.

mod budgets;
mod leases;
mod shared;
mod simulation;
mod store;
mod turns;

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use majordomo_limits::{
    BudgetLimits, Flow, LeaseBackend, LevelId, LevelKind, LevelPolicy, LimitPolicy, LimitRegistry,
    LimitStack, Moment, Nanodollars, NoAlerts, Refusal, Reservation, ReservationAsk,
    ReserveOutcome, TrafficLimits,
};

pub(super) const USD: u64 = 1_000_000_000;

pub(super) fn registry(backend: Arc<dyn LeaseBackend>) -> LimitRegistry {
    LimitRegistry::new(backend, Arc::new(NoAlerts))
}

pub(super) fn tenant() -> Flow {
    Flow::named("laptop")
}

pub(super) fn at(seconds: u64, day: i64) -> Moment {
    Moment {
        monotonic: Duration::from_secs(seconds),
        day,
    }
}

/// A policy with a daily budget in nanodollars.
pub(super) fn daily(nanodollars: u64) -> LimitPolicy {
    LimitPolicy {
        budget: BudgetLimits {
            day: Some(Nanodollars(nanodollars)),
            ..BudgetLimits::default()
        },
        ..LimitPolicy::default()
    }
}

pub(super) fn rates(requests: u64, tokens: u64) -> LimitPolicy {
    LimitPolicy {
        traffic: TrafficLimits {
            requests_per_minute: NonZeroU64::new(requests),
            tokens_per_minute: NonZeroU64::new(tokens),
            ..TrafficLimits::default()
        },
        ..LimitPolicy::default()
    }
}

pub(super) fn level(kind: LevelKind, name: &str, policy: LimitPolicy) -> LevelPolicy {
    LevelPolicy {
        id: LevelId::new(kind, name),
        policy: Arc::new(policy),
    }
}

/// Reserves one token's worth of this cost.
pub(super) fn reserve(stack: &LimitStack, now: Moment, cost: u64) -> Result<Reservation, Refusal> {
    let ask = ReservationAsk {
        tokens: 1,
        cost: Some(Nanodollars(cost)),
    };
    match stack.reserve(now, ask) {
        ReserveOutcome::Held(reservation) => Ok(reservation),
        ReserveOutcome::Refused(refusal) => Err(refusal),
        ReserveOutcome::Waiting(_) => panic!("memory replies at once"),
    }
}
