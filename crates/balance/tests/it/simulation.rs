//! A million picks per property, in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use majordomo::clock::{Clock, ManualClock};
use majordomo::fake::Fake;
use majordomo::observe::Notice;
use majordomo::{Registry, Request};
use majordomo_balance::{
    Pick, Pool, PoolConfig, Seat, ServiceConfig, ServiceIndex, Tactic, Usability,
};

use crate::support::{flat, now, pinned, secs, session, status};

const PICKS: u32 = 1_000_000;

fn pool(tactic: Tactic, weights: &[u32]) -> Pool {
    let service = |(number, weight): (usize, &u32)| {
        ServiceConfig::new(number.to_string()).with_weight(*weight)
    };
    let config = PoolConfig::default()
        .with_services(weights.iter().enumerate().map(service).collect())
        .with_tactic(tactic)
        .with_seed(Some(2_026));
    Pool::new(config, now())
}

fn pick(pool: &Pool, now: Instant) -> ServiceIndex {
    let first = pool.order(&Pick::at(now), |_| Usability::Usable).next();
    first.expect("all are usable")
}

/// Requests in flight, ended in the order of their time.
#[derive(Default)]
struct SimulatedTraffic {
    ends: BinaryHeap<Reverse<(Instant, u32)>>,
    /// By request number: the service, the start and the seat.
    running: std::collections::HashMap<u32, (ServiceIndex, Instant, Seat)>,
    count: u32,
}

impl SimulatedTraffic {
    fn send(&mut self, pool: &Pool, to: ServiceIndex, now: Instant, takes: Duration) {
        let seat = pool.service(to).stats().try_seat();
        let seat = seat.expect("capacity is unlimited");
        self.count += 1;
        self.ends.push(Reverse((now + takes, self.count)));
        self.running.insert(self.count, (to, now, seat));
    }

    /// Ends the requests that are over by now.
    fn pass(&mut self, pool: &Pool, now: Instant) {
        while let Some(Reverse((end, number))) = self.ends.peek().copied() {
            if end > now {
                return;
            }
            self.ends.pop();
            let (service, began, seat) = self.running.remove(&number).expect("it is running");
            drop(seat);
            let stats = pool.service(service).stats();
            stats.record_response(end - began, end);
        }
    }
}

/// Uneven but reproducible: between 50 and 150.
fn uneven(number: u32) -> u64 {
    50 + u64::from(number.wrapping_mul(2_654_435_761) >> 16) % 100
}

#[test]
fn shares_are_within_one_percent_of_the_weights() {
    for tactic in [Tactic::Random, Tactic::RoundRobin] {
        let weights = [5, 3, 2];
        let pool = pool(tactic, &weights);
        let mut counts = [0_u32; 3];
        let now = now();
        for _ in 0..PICKS {
            counts[pick(&pool, now).get()] += 1;
        }
        for (count, weight) in counts.into_iter().zip(weights) {
            let fair = f64::from(PICKS) * f64::from(weight) / 10.0;
            let astray = (f64::from(count) - fair).abs() / fair;
            assert!(astray < 0.01, "{tactic}: {counts:?}");
        }
    }
}

#[test]
fn latency_sends_a_five_times_slower_service_less_than_a_quarter_of_its_share() {
    let pool = pool(Tactic::Latency, &[1; 4]);
    let mut traffic = SimulatedTraffic::default();
    let mut counts = [0_u32; 4];
    let mut time = now();
    for number in 0..PICKS {
        traffic.pass(&pool, time);
        let chosen = pick(&pool, time);
        counts[chosen.get()] += 1;
        let slow = if chosen.get() == 0 { 5 } else { 1 };
        let takes = Duration::from_millis(slow * 2 * uneven(number));
        traffic.send(&pool, chosen, time, takes);
        time += Duration::from_micros(uneven(number.rotate_left(7)) * 200);
    }
    let fair = PICKS / 4;
    assert!(counts[0] < fair / 4, "{counts:?}");
    assert!(counts[0] > 0, "it is still tried: {counts:?}");
    let others = &counts[1..];
    assert!(others.iter().all(|count| *count > fair), "{counts:?}");
}

#[test]
fn least_busy_keeps_the_requests_in_flight_within_one_of_each_other() {
    let pool = pool(Tactic::LeastBusy, &[1; 5]);
    let mut traffic = SimulatedTraffic::default();
    let mut time = now();
    let (mut widest, mut busiest) = (0, 0);
    for number in 0..PICKS {
        traffic.pass(&pool, time);
        let chosen = pick(&pool, time);
        traffic.send(&pool, chosen, time, secs(1));
        let in_flight = || pool.services().map(|(_, s)| s.stats().in_flight());
        let most = in_flight().max().unwrap_or_default();
        widest = widest.max(most - in_flight().min().unwrap_or_default());
        busiest = busiest.max(most);
        // Bursts and lulls: the number in flight rises and falls.
        let lull = if number % 2_000 < 1_000 { 1 } else { 10 };
        time += Duration::from_micros(lull * uneven(number) * 100);
    }
    assert_eq!(widest, 1);
    assert!(busiest > 10, "there was a burst: {busiest}");
}

/// One of four services always fails. Requests that pick it call it through a real
/// chain, so that real health decides.
#[tokio::test]
async fn a_tripped_service_gets_exactly_one_probe_per_bench() {
    let clock = ManualClock::new();
    let benches = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&benches);
    let registry = Registry::builder()
        .environment(Default::default())
        .clock(Arc::new(clock.clone()))
        .observer(Arc::new(move |notice: &Notice<'_>| {
            if let Notice::Benched { wait, .. } = notice {
                listener.lock().expect("not poisoned").push(wait.as_secs());
            }
        }))
        .build();
    let fake = Fake::new("up");
    fake.otherwise(|_| status(500));
    registry.register(fake.clone());
    let chain = registry.model("up/failing").expect("a known service");
    let pool = Pool::new(flat(&["up/a", "up/b", "up/failing", "up/c"]), clock.now());

    let mut failing = Usability::Usable;
    for _ in 0..PICKS {
        let now = clock.now();
        if matches!(failing, Usability::Benched { until } if until <= now) {
            failing = usability(&registry, now);
        }
        let order = pool.order(&Pick::at(now), |index| match index.get() {
            2 => failing,
            _ => Usability::Usable,
        });
        let first = order.take(1).next().expect("three are healthy");
        if first.get() == 2 {
            let error = chain.generate(Request::user("hi")).await;
            error.expect_err("it always fails");
            failing = usability(&registry, now);
        }
        clock.advance(Duration::from_millis(10));
    }
    let benches = benches.lock().expect("not poisoned").clone();
    assert_eq!(benches[..7], [5, 10, 20, 40, 80, 160, 300]);
    assert!(benches.len() > 30, "{}", benches.len());
    // Two attempts trip it; then one attempt for each bench that ended.
    assert_eq!(fake.call_count("failing"), 2 + benches.len() - 1);
    let picks = pool.snapshot(clock.now()).services[2].picks as usize;
    assert_eq!(picks, benches.len(), "no other request was sent there");
}

fn usability(registry: &Registry, now: Instant) -> Usability {
    let health = registry.health().snapshot();
    let failing = health.iter().find(|status| status.subject == "up/failing");
    failing.map_or(Usability::Usable, |status| Usability::of(status, now))
}

#[test]
fn a_thousand_sessions_stay_pinned_for_a_thousand_requests_and_leave_a_benched_service_at_once() {
    let pool = Pool::new(pinned(flat(&["a", "b", "c", "d"])), now());
    let sessions: Vec<_> = (0..1_000).map(|n| session(&n.to_string())).collect();
    let start = now();
    let home = |number: usize, now, usable: &dyn Fn(ServiceIndex) -> Usability| {
        let pick = Pick::at(now).of(sessions[number]);
        pool.order(&pick, usable).next().map(ServiceIndex::get)
    };
    let well = |_| Usability::Usable;
    let homes: Vec<_> = (0..1_000).map(|n| home(n, start, &well)).collect();
    for request in 1..1_000 {
        let now = start + secs(request);
        for (number, expected) in homes.iter().enumerate() {
            assert_eq!(home(number, now, &well), *expected);
        }
    }

    let now = start + secs(1_000);
    let until = now + secs(60);
    let without_b = |index: ServiceIndex| match index.get() {
        1 => Usability::Benched { until },
        _ => Usability::Usable,
    };
    let moved: Vec<_> = (0..1_000).map(|n| home(n, now, &without_b)).collect();
    for (before, after) in homes.iter().zip(&moved) {
        assert_ne!(*after, Some(1));
        assert!(
            *before == Some(1) || before == after,
            "only sessions of the unhealthy one move"
        );
    }
    // When healthy again, it does not get back the sessions that moved.
    for (number, expected) in moved.iter().enumerate() {
        assert_eq!(home(number, until, &well), *expected);
    }
}
