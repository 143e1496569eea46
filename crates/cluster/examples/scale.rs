//! A day of a large cluster in virtual time: the load on its stores.
//!
//!     cargo run --release -p majordomo-cluster --example scale
//!
//! 100 nodes, 10,000 keys with rates, seats and a budget, 5,000 requests per second on
//! average, twice as many at noon as at night; keys are popular by Zipf's law. Only the
//! traffic is random, from a seed; exchanges follow the rules of the lease protocol: each of a
//! key's three limits is requested and reported on; a limit that is used twice within ten
//! seconds on a node is held and renewed until ten seconds after its last use.
//! `docs/guide/cluster.md` quotes the output.

use fastrand::Rng;

const NODES: usize = 100;
const KEYS: usize = 10_000;
const DAY: usize = 86_400;
const MEAN_RATE: f64 = 5_000.0;
const SEED: u64 = 26;

/// Rates, seats: how long an unused hold is kept, and how often holds are renewed.
const WARM: f64 = 10.0;
const RENEW_RATE: f64 = 1.5;
const RENEW_SEATS: f64 = 1.0;
/// Budgets: a slice covers two seconds, and an unused lease is closed after thirty.
const SLICE: f64 = 2.0;
const IDLE_LEASE: f64 = 30.0;

/// How the balancer chooses a node.
#[derive(Clone, Copy)]
enum Balancing {
    /// Any node.
    RoundRobin,
    /// One of two nodes per key: consistent hashing of the key.
    ByKey,
}

/// What happened in one second.
#[derive(Clone, Copy, Default)]
struct Second {
    requests: u32,
    /// Exchanges about limits, in Redis.
    exchanges: f32,
    /// Leases granted and closed, in PostgreSQL.
    transactions: f32,
    /// Requests whose node held no lease of their key.
    cold: u32,
}

struct Day {
    seconds: Vec<Second>,
}

fn simulate(balancing: Balancing) -> Day {
    let mut random = Rng::with_seed(SEED);
    let mut seconds = vec![Second::default(); DAY];
    let total_weight: f64 = (1..=KEYS).map(|rank| 1.0 / rank as f64).sum();
    for rank in 1..=KEYS {
        let mean = MEAN_RATE / (rank as f64 * total_weight);
        let homes = [random.usize(0..NODES), random.usize(0..NODES)];
        let mut last = [f64::NEG_INFINITY; NODES];
        let mut held = [false; NODES];
        let mut leased_until = [f64::NEG_INFINITY; NODES];
        let mut now = 0.0;
        loop {
            // Arrivals at the day's highest rate, thinned to the rate of the hour.
            now += -(1.0 - random.f64()).ln() / (mean * 4.0 / 3.0);
            if now >= DAY as f64 {
                break;
            }
            if random.f64() * 4.0 / 3.0 > hourly(now) {
                continue;
            }
            let node = match balancing {
                Balancing::RoundRobin => random.usize(0..NODES),
                Balancing::ByKey => homes[random.usize(0..2)],
            };
            let second = &mut seconds[now as usize];
            second.requests += 1;
            let idle = now - last[node];
            if idle > WARM {
                // Requests, tokens and seats: requested, and reported on.
                second.exchanges += 6.0;
                second.cold += 1;
                if std::mem::replace(&mut held[node], false) {
                    // Earlier leases were renewed until they were returned.
                    second.exchanges += renewals(WARM) + 3.0;
                }
            } else {
                held[node] = true;
                second.exchanges += renewals(idle);
            }
            if now > leased_until[node] {
                // Granted, and closed when it is spent or unused.
                second.transactions += 2.0;
                leased_until[node] = now + if idle > IDLE_LEASE { IDLE_LEASE } else { SLICE };
            }
            last[node] = now;
        }
    }
    Day { seconds }
}

/// Exchanges that keep two rates and the seats of a key for so long.
fn renewals(seconds: f64) -> f32 {
    (2.0 * seconds / RENEW_RATE + seconds / RENEW_SEATS) as f32
}

/// The rate of an hour relative to the day's mean: two thirds at night, four thirds at noon.
fn hourly(now: f64) -> f64 {
    let angle = now / DAY as f64 * std::f64::consts::TAU;
    1.0 - angle.cos() / 3.0
}

impl Day {
    fn sum(&self, value: impl Fn(&Second) -> f64) -> f64 {
        self.seconds.iter().map(value).sum()
    }

    /// The mean of the busiest minute.
    fn peak(&self, value: impl Fn(&Second) -> f64) -> f64 {
        let minutes = self.seconds.chunks(60);
        let sums = minutes.map(|minute| minute.iter().map(&value).sum::<f64>() / 60.0);
        sums.fold(0.0, f64::max)
    }

    fn print(&self, name: &str) {
        let requests = self.sum(|second| f64::from(second.requests));
        let cold = self.sum(|second| f64::from(second.cold));
        println!("{name}");
        println!("  requests            {:>6.0} million", requests / 1e6);
        println!(
            "  at the busiest      {:>6.0} /s, {:.0} /s per node",
            self.peak(|second| f64::from(second.requests)),
            self.peak(|second| f64::from(second.requests)) / NODES as f64
        );
        println!(
            "  Redis exchanges     {:>6.0} /s at the busiest, {:.2} per request",
            self.peak(|second| f64::from(second.exchanges)),
            self.sum(|second| f64::from(second.exchanges)) / requests
        );
        println!(
            "  a key's first look  {:>6.1} % of requests",
            cold / requests * 100.0
        );
        println!(
            "  budget transactions {:>6.0} /s at the busiest",
            self.peak(|second| f64::from(second.transactions))
        );
    }
}

fn main() {
    println!("{NODES} nodes, {KEYS} keys, one day, seed {SEED}");
    simulate(Balancing::RoundRobin).print("any node serves any key");
    simulate(Balancing::ByKey).print("two nodes per key");
}
