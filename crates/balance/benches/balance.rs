//! The cost of a pick: the first service of an order, in pools of 20 and 500.
//!
//! `cargo bench -p majordomo-balance`. Goals: 1 µs with 20 services, 5 µs with 500. The
//! groups `alone` and `crowded` run one thread and several threads on one pool; nothing
//! is locked, so the second is not much slower.

use std::time::{Duration, Instant};

use divan::{AllocProfiler, Bencher, black_box};
use majordomo::Usage;
use majordomo::clock::{Clock, RuntimeClock};
use majordomo_balance::{
    Pick, Pool, PoolConfig, ServiceConfig, ServiceIndex, SessionHints, SessionKey, Tactic,
    Usability,
};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

const SIZES: [usize; 2] = [20, 500];

fn main() {
    divan::main();
}

/// A pool with history: uneven weights, three tiers, seats on every fourth service,
/// samples everywhere, and no service below its token budget.
fn pool(tactic: Tactic, services: usize, now: Instant) -> Pool {
    let service = |number: usize| {
        ServiceConfig::new(format!("provider/model-{number}"))
            .with_weight(1 + number as u32 % 5)
            .with_tier(number as u32 % 3)
            .with_capacity(number.is_multiple_of(4).then_some(8))
    };
    let config = PoolConfig::default()
        .with_services((0..services).map(service).collect())
        .with_tactic(tactic)
        .with_affinity(Some(Duration::from_secs(1_800)))
        .with_seed(Some(1));
    let pool = Pool::new(config, now);
    for (index, service) in pool.services() {
        let stats = service.stats();
        for sample in 0..10 {
            let millis = 200 + 37 * (index.get() as u64 % 11) + sample;
            let usage = Usage::new(9_900, 100);
            stats.record_first_token(Duration::from_millis(millis / 4));
            stats.record_speed(100, Duration::from_millis(millis));
            stats.record_response(Duration::from_millis(millis), now);
            stats.record_usage(&usage, now);
        }
    }
    pool
}

fn pick(bencher: Bencher<'_, '_>, tactic: Tactic, services: usize, session: Option<SessionKey>) {
    let now = RuntimeClock.now();
    let pool = pool(tactic, services, now);
    let pick = Pick::at(now).of(session);
    let until = now + Duration::from_secs(60);
    bencher.bench(|| {
        // Every seventh service is unhealthy.
        let usable = |index: ServiceIndex| {
            if black_box(index.get()) % 7 == 3 {
                Usability::Benched { until }
            } else {
                Usability::Usable
            }
        };
        pool.order(&pick, usable).next()
    });
}

macro_rules! tactics {
    ($($name:ident => $tactic:ident),* $(,)?) => {
        #[divan::bench_group]
        mod alone {
            use super::*;
            $(#[divan::bench(args = SIZES)]
            fn $name(bencher: Bencher<'_, '_>, services: usize) {
                pick(bencher, Tactic::$tactic, services, None);
            })*

            #[divan::bench(args = SIZES)]
            fn affinity(bencher: Bencher<'_, '_>, services: usize) {
                pick(bencher, Tactic::Tier, services, session());
            }
        }

        #[divan::bench_group(threads = 0)]
        mod crowded {
            use super::*;
            $(#[divan::bench(args = SIZES)]
            fn $name(bencher: Bencher<'_, '_>, services: usize) {
                pick(bencher, Tactic::$tactic, services, None);
            })*
        }
    };
}

tactics! {
    in_order => InOrder,
    random => Random,
    round_robin => RoundRobin,
    least_busy => LeastBusy,
    latency => Latency,
    speed => Speed,
    token => Token,
    capacity => Capacity,
    tier => Tier,
    adaptive => Adaptive,
}

fn session() -> Option<SessionKey> {
    SessionKey::of(&SessionHints {
        user_id: Some("one"),
        ..SessionHints::default()
    })
}

/// A complete order, as when every service fails.
#[divan::bench(args = SIZES)]
fn whole_order(bencher: Bencher<'_, '_>, services: usize) {
    let now = RuntimeClock.now();
    let pool = pool(Tactic::Tier, services, now);
    bencher.bench(|| pool.order(&Pick::at(now), |_| Usability::Usable).count());
}
