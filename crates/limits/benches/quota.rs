//! The cost of limits on the path of a request.
//!
//! `cargo bench -p majordomo-limits`. Goal: 1 µs for a key with four limits, from the
//! charge of the request to the settlement of its attempt. `alone` and `crowded` run one
//! thread and several threads on one key; `looked_up` begins with the lookup of its levels.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use divan::{AllocProfiler, Bencher, black_box};
use majordomo_limits::{
    BudgetLimits, ChargeOutcome, Flow, LevelId, LevelKind, LevelPolicy, LimitPolicy, LimitRegistry,
    LimitStack, MemoryLeases, Moment, Nanodollars, NoAlerts, ReservationAsk, ReserveOutcome,
    TrafficLimits,
};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

const NOW: Moment = Moment {
    monotonic: Duration::from_secs(1),
    day: 20_775,
};

fn main() {
    divan::main();
}

/// A key with a request rate, a token rate, seats and a budget.
fn key() -> (LimitRegistry, LevelPolicy) {
    let many = NonZeroU64::new(u64::from(u32::MAX));
    let policy = LimitPolicy {
        traffic: TrafficLimits {
            requests_per_minute: many,
            tokens_per_minute: NonZeroU64::new(1 << 60),
            concurrent: many,
            queue: None,
        },
        budget: BudgetLimits {
            day: Some(Nanodollars(1 << 60)),
            ..BudgetLimits::default()
        },
        ..LimitPolicy::default()
    };
    let registry = LimitRegistry::new(Arc::<MemoryLeases>::default(), Arc::new(NoAlerts));
    let level = LevelPolicy {
        id: LevelId::new(LevelKind::Key, "laptop"),
        policy: Arc::new(policy),
    };
    (registry, level)
}

fn stack() -> LimitStack {
    let (registry, level) = key();
    registry.stack(1, &[level], Flow::named("laptop"))
}

fn one_request(stack: &LimitStack) {
    let charge = stack.charge_request(NOW);
    let seats: Vec<_> = stack
        .seats(NOW.monotonic)
        .filter_map(|level| level.seats.try_acquire(level.flow, 1))
        .collect();
    let ask = ReservationAsk {
        tokens: 1_000,
        cost: Some(Nanodollars(1_000_000)),
    };
    if let ReserveOutcome::Held(reservation) = stack.reserve(NOW, ask) {
        reservation.settle(NOW.monotonic, 700, Nanodollars(500_000));
    }
    black_box((matches!(charge, ChargeOutcome::Charged(_)), seats.len()));
}

#[divan::bench]
fn alone(bencher: Bencher) {
    let stack = stack();
    bencher.bench(|| one_request(&stack));
}

/// As a gateway does it: the levels of the caller are looked up, too.
#[divan::bench]
fn looked_up(bencher: Bencher) {
    let (registry, level) = key();
    let tenant = Flow::named("laptop");
    bencher.bench(|| one_request(&registry.stack(1, std::slice::from_ref(&level), tenant)));
}

#[divan::bench(threads = [2, 8])]
fn crowded(bencher: Bencher) {
    let stack = stack();
    bencher.bench(|| one_request(&stack));
}
