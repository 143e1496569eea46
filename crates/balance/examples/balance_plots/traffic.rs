//! The traffic of the plots: four minutes of requests to three services. The cheap one is
//! unavailable for the second minute, and one is slow.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::{Duration, Instant};

use majordomo::Usage;
use majordomo::clock::{Clock, RuntimeClock};
use majordomo_balance::{
    Pick, Pool, PoolConfig, Seat, ServiceConfig, ServiceIndex, Tactic, Usability,
};

/// One service of the plots.
pub(crate) struct PlotService {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    weight: u32,
    tier: u32,
    capacity: usize,
    /// Milliseconds to the first token.
    first_token: u64,
    /// Output tokens per second.
    speed: u64,
}

pub(crate) const SERVICES: [PlotService; 3] = [
    PlotService {
        name: "cheap",
        about: "weight 3, tier 0, 12 seats, 50 tokens/s; away from 1:00 to 2:00",
        weight: 3,
        tier: 0,
        capacity: 12,
        first_token: 400,
        speed: 50,
    },
    PlotService {
        name: "fast",
        about: "weight 2, tier 1, 24 seats, 120 tokens/s",
        weight: 2,
        tier: 1,
        capacity: 24,
        first_token: 200,
        speed: 120,
    },
    PlotService {
        name: "slow",
        about: "weight 1, tier 2, 24 seats, 24 tokens/s",
        weight: 1,
        tier: 2,
        capacity: 24,
        first_token: 1_500,
        speed: 24,
    },
];

pub(crate) const MINUTES: u64 = 4;
/// Width of a slice in seconds.
pub(crate) const SLICE: u64 = 5;
const INTERVAL: Duration = Duration::from_millis(125);
const UNAVAILABLE: std::ops::Range<u64> = 60..120;

/// A request in flight.
struct InFlight {
    service: ServiceIndex,
    began: Instant,
    tokens: u64,
    _seat: Option<Seat>,
}

/// The requests of each service per slice.
pub(crate) fn run(tactic: Tactic) -> Vec<[u32; 3]> {
    let start = RuntimeClock.now();
    let pool = Pool::new(config(tactic), start);
    let mut slices = vec![[0; 3]; (MINUTES * 60 / SLICE) as usize];
    let mut ends = BinaryHeap::new();
    let mut running = HashMap::new();
    let mut number = 0_u64;
    let mut time = Duration::ZERO;
    while time < Duration::from_secs(MINUTES * 60) {
        while let Some(Reverse((end, done))) = ends.peek().copied() {
            if end > time {
                break;
            }
            ends.pop();
            if let Some(done) = running.remove(&done) {
                finish(&pool, &done, start + end);
            }
        }
        let now = start + time;
        let away = UNAVAILABLE.contains(&time.as_secs());
        let until = start + Duration::from_secs(UNAVAILABLE.end);
        let order = pool.order(&Pick::at(now), |index| match index.get() {
            0 if away => Usability::Benched { until },
            _ => Usability::Usable,
        });
        // A full service passes the request on to the next one.
        let seated = order
            .map(|index| (index, pool.service(index).stats().try_seat()))
            .find(|(_, seat)| seat.is_some());
        if let Some((service, seat)) = seated {
            number += 1;
            let tokens = 60 + number.wrapping_mul(2_654_435_761) % 90;
            let kind = &SERVICES[service.get()];
            let took = Duration::from_millis(kind.first_token + 1_000 * tokens / kind.speed);
            ends.push(Reverse((time + took, number)));
            let one = InFlight {
                service,
                began: now,
                tokens,
                _seat: seat,
            };
            running.insert(number, one);
            slices[(time.as_secs() / SLICE) as usize][service.get()] += 1;
        }
        time += INTERVAL;
    }
    slices
}

fn config(tactic: Tactic) -> PoolConfig {
    let service = |kind: &PlotService| {
        ServiceConfig::new(kind.name)
            .with_weight(kind.weight)
            .with_tier(kind.tier)
            .with_capacity(Some(kind.capacity))
    };
    PoolConfig::default()
        .with_services(SERVICES.iter().map(service).collect())
        .with_tactic(tactic)
        .with_seed(Some(1))
}

/// Records the measurements of a meter.
fn finish(pool: &Pool, done: &InFlight, end: Instant) {
    let kind = &SERVICES[done.service.get()];
    let stats = pool.service(done.service).stats();
    let first = Duration::from_millis(kind.first_token);
    let took = end - done.began;
    stats.record_first_token(first);
    stats.record_speed(done.tokens, took.saturating_sub(first));
    stats.record_response(took, end);
    let usage = Usage::new(400, done.tokens);
    stats.record_usage(&usage, end);
}
