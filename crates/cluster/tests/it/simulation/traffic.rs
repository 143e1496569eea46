//! Rates and seats of several nodes: used + held ≤ capacity at every moment, and over time
//! no more than the rate, whatever dies. A node without its store enforces its share.
//!
//! Seats are exact also where the store forgets everything, dies for all nodes at once, or
//! for some of them: a request lasts three seconds at most here, less than a lease. The one
//! exception is a node that has lost the store alone and for long, and that the store does
//! not know of: it uses its share besides.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use majordomo_cluster::{LEASE, LeaseTable, RESERVED};
use majordomo_limits::{
    ChargeOutcome, Flow, LevelId, LevelKind, LevelPolicy, LimitPolicy, LimitRegistry, MemoryLeases,
    Moment, NoAlerts, Permit, TrafficAsk, TrafficBackend, TrafficGrant, TrafficLimits,
    TrafficReply,
};

const NODES: u64 = 3;
const STEPS: usize = 300;
/// The longest request.
const LONGEST: Duration = Duration::from_secs(3);
/// A node that has lost the store for this long goes on with its share.
const SETTLED: Duration = Duration::from_secs(8);

/// What nodes lose the store for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Losses {
    /// Nothing.
    None,
    /// It is away for all of them.
    Together,
    /// Each of them alone, or a reply is lost.
    Apart,
}

/// A node's way to the store.
#[derive(Default)]
struct Wire {
    asks: Mutex<VecDeque<(TrafficAsk, TrafficReply)>>,
    cut: AtomicBool,
    away_for: Mutex<Duration>,
}

impl TrafficBackend for Wire {
    fn exchange(&self, ask: TrafficAsk, reply: TrafficReply) {
        self.asks
            .lock()
            .expect("not poisoned")
            .push_back((ask, reply));
    }

    fn is_up(&self) -> bool {
        !self.cut.load(Relaxed)
    }

    fn away_for(&self) -> Duration {
        *self.away_for.lock().expect("not poisoned")
    }

    fn nodes(&self) -> u64 {
        NODES
    }
}

struct Node {
    name: String,
    slot: usize,
    wire: Arc<Wire>,
    registry: LimitRegistry,
    /// Seats in use, and since when.
    seats: Vec<(Permit, Duration)>,
    /// Its monotonic clock: an origin of its own, and a little faster or slower.
    origin: Duration,
    pace: f64,
    /// Since when it has lost the store.
    cut_since: Option<Duration>,
    /// Until when requests run that it may have admitted by a share which the store does not
    /// keep back.
    by_share_until: Duration,
    /// The store lost its memory while this node could not reach it.
    forgotten: bool,
    /// Replies that are on their way.
    coming: Vec<(TrafficReply, TrafficGrant)>,
}

struct World {
    random: Rng,
    table: LeaseTable,
    nodes: Vec<Node>,
    started: u64,
    now: Duration,
    losses: Losses,
    rate: u64,
    capacity: u64,
    levels: [LevelPolicy; 1],
    admitted: u64,
    /// Units that shares may have admitted in addition.
    allowance: f64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let (rate, capacity) = (random.u64(1..2_000), random.u64(1..30));
        let policy = LimitPolicy {
            traffic: TrafficLimits {
                requests_per_minute: NonZeroU64::new(rate),
                concurrent: NonZeroU64::new(capacity),
                ..TrafficLimits::default()
            },
            ..LimitPolicy::default()
        };
        let mut world = Self {
            losses: [Losses::None, Losses::Together, Losses::Apart][random.usize(0..3)],
            random,
            table: LeaseTable::default(),
            nodes: Vec::new(),
            started: 0,
            now: Duration::from_secs(1_000_000),
            rate,
            capacity,
            levels: [LevelPolicy {
                id: LevelId::new(LevelKind::Key, "laptop"),
                policy: Arc::new(policy),
            }],
            admitted: 0,
            allowance: 0.0,
        };
        for slot in 0..NODES {
            let node = world.start(slot as usize);
            world.nodes.push(node);
        }
        world
    }

    /// A process in the place of another one, or the first there.
    fn start(&mut self, slot: usize) -> Node {
        self.started += 1;
        let wire = Arc::<Wire>::default();
        let leases = Arc::<MemoryLeases>::default();
        Node {
            name: format!("n{slot}#{}", self.started),
            slot,
            registry: LimitRegistry::new(leases, Arc::new(NoAlerts)).sharing(wire.clone()),
            wire,
            seats: Vec::new(),
            origin: Duration::from_secs(self.random.u64(0..7_200)),
            pace: 1.0 + (self.random.f64() - 0.5) / 100.0,
            cut_since: None,
            by_share_until: Duration::ZERO,
            forgotten: false,
            coming: Vec::new(),
        }
    }

    fn burst(&self) -> u64 {
        (self.rate / 6).max(1)
    }

    /// What nodes may admit before they ask.
    fn credit(&self) -> f64 {
        match self.burst() >= 4 * NODES {
            true => NODES as f64,
            false => 0.0,
        }
    }

    fn local(&self, at: usize) -> Duration {
        let node = &self.nodes[at];
        node.origin + self.now.mul_f64(node.pace)
    }

    /// Delivers the replies to a node that are on their way.
    fn arrive(&mut self, at: usize) {
        for (reply, grant) in std::mem::take(&mut self.nodes[at].coming) {
            reply.granted(grant);
        }
    }

    /// Delivers a node's requests, and sometimes loses a reply.
    fn deliver(&mut self, at: usize) {
        if self.random.bool() {
            self.arrive(at);
        }
        loop {
            let first = self.nodes[at]
                .wire
                .asks
                .lock()
                .expect("not poisoned")
                .pop_front();
            let Some((ask, reply)) = first else {
                return;
            };
            if self.nodes[at].wire.cut.load(Relaxed) {
                drop(reply);
                continue;
            }
            let granted = self.table.exchange(self.now, &self.nodes[at].name, &ask);
            let lost = self.losses == Losses::Apart && self.random.u8(0..30) == 0;
            match lost {
                true => {
                    self.alone();
                    drop(reply);
                }
                // Requests come and go before it arrives.
                false if self.random.u8(0..3) == 0 => {
                    self.nodes[at].coming.push((reply, granted.grant));
                }
                false => reply.granted(granted.grant),
            }
        }
    }

    fn share(&self) -> u64 {
        (self.capacity / NODES).max(1)
    }

    /// Cuts a node from the store, or heals it.
    fn toggle(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        let cut = !node.wire.cut.load(Relaxed);
        node.wire.cut.store(cut, Relaxed);
        node.cut_since = cut.then_some(self.now);
        self.alone();
    }

    /// The share of a rate takes over for a while.
    fn alone(&mut self) {
        self.allowance += (self.burst() / NODES).max(1) as f64 + self.burst() as f64;
    }

    fn request(&mut self, at: usize) {
        let stack = self.nodes[at]
            .registry
            .stack(1, &self.levels, Flow::named("laptop"));
        for _ in 0..3 {
            let monotonic = self.local(at);
            match stack.charge_request(Moment { monotonic, day: 0 }) {
                ChargeOutcome::Charged(_) => {
                    self.admitted += 1;
                    break;
                }
                ChargeOutcome::Refused(_) => return,
                ChargeOutcome::Waiting(_) => self.deliver(at),
            }
        }
        let now = self.local(at);
        for queue in stack.seats(now) {
            self.deliver(at);
            if let Some(seat) = queue.seats.try_acquire(queue.flow, 1) {
                self.nodes[at].seats.push((seat, self.now));
            }
        }
    }

    /// Time passes: requests end, nodes show that they live.
    fn pass(&mut self, pause: Duration) {
        self.now += pause;
        for node in &mut self.nodes {
            node.seats.retain(|(_, since)| *since + LONGEST > self.now);
            let away_for = node
                .cut_since
                .map_or(Duration::ZERO, |since| self.now - since);
            *node.wire.away_for.lock().expect("not poisoned") = away_for;
            match node.cut_since {
                None => {
                    node.forgotten = false;
                    self.table.sign_of_life(self.now);
                }
                // Its clock may be a little faster.
                Some(_) if node.forgotten || away_for.mul_f64(1.01) >= SETTLED => {
                    node.by_share_until = self.now + LONGEST;
                }
                Some(_) => {}
            }
        }
    }

    fn step(&mut self) {
        let at = self.random.usize(0..self.nodes.len());
        let pause = Duration::from_millis(self.random.u64(0..300));
        self.pass(pause);
        let cut = self.nodes.iter().filter(|node| node.wire.cut.load(Relaxed));
        let share = (self.rate / NODES).max(1) as f64 / 60.0;
        // One more second, because a node pauses that long after a lost reply.
        self.allowance += cut.count() as f64 * share * pause.as_secs_f64();
        match self.random.u8(0..100) {
            0..60 => self.request(at),
            60..80 => {
                let node = &mut self.nodes[at];
                if !node.seats.is_empty() {
                    let one = self.random.usize(0..node.seats.len());
                    drop(node.seats.swap_remove(one));
                }
            }
            80..84 => {
                let mut new = self.start(self.nodes[at].slot);
                // The network is as it was.
                if self.nodes[at].cut_since.is_some() {
                    new.wire.cut.store(true, Relaxed);
                    new.cut_since = Some(self.now);
                    // It does not know what its predecessor used of the share.
                    self.alone();
                }
                drop(std::mem::replace(&mut self.nodes[at], new));
            }
            84..88 if self.losses == Losses::Apart => self.toggle(at),
            84..86 if self.losses == Losses::Together => {
                (0..self.nodes.len()).for_each(|at| self.toggle(at));
            }
            88..89 if self.losses != Losses::None => {
                self.table.restart_empty();
                for node in &mut self.nodes {
                    node.forgotten = node.cut_since.is_some();
                }
                self.allowance += self.burst() as f64;
            }
            89..90 if self.losses == Losses::None => {
                // Quiet for a while. No reply takes that long: it has a deadline.
                (0..self.nodes.len()).for_each(|at| self.arrive(at));
                self.nodes.iter_mut().for_each(|node| node.seats.clear());
                self.pass(Duration::from_secs(30));
            }
            _ => {}
        }
        for at in 0..self.nodes.len() {
            self.nodes[at].registry.exchange(self.local(at));
            self.deliver(at);
        }
    }

    fn check(&mut self, since: Duration) {
        let passed = (self.now - since).as_secs_f64();
        // Clocks of nodes differ by up to half a percent.
        let by_rate = self.rate as f64 / 60.0 * passed * 1.005 + self.burst() as f64;
        let most = by_rate + self.allowance + self.credit() + 1.0;
        assert!(
            (self.admitted as f64) <= most,
            "{} admitted of {most}",
            self.admitted
        );
        let in_use: usize = self.nodes.iter().map(|node| node.seats.len()).sum();
        let most = self.capacity + self.seats_by_share();
        assert!(in_use as u64 <= most, "{in_use} seats of {most}");
        if self.losses != Losses::None {
            return;
        }
        let rate = self
            .table
            .taken(self.now, "key/laptop/requests", Some(self.rate));
        let most = self.burst() as f64 + self.credit() + 1e-6;
        assert!(rate <= most, "{rate} of {most}");
        let seats = self.table.taken(self.now, "key/laptop/seats", None);
        assert!(
            seats <= self.capacity as f64,
            "{seats} of {}",
            self.capacity
        );
    }

    /// Seats that shares may admit besides.
    fn seats_by_share(&self) -> u64 {
        let by_share = self
            .nodes
            .iter()
            .filter(|node| node.by_share_until > self.now);
        let share = match self.losses {
            Losses::Apart => self.share(),
            // The shares of all make up the whole, but a share is at least one seat.
            Losses::Together if self.capacity < NODES => 1,
            Losses::Together | Losses::None => 0,
        };
        by_share.count() as u64 * share
    }

    /// Healed, a node without competition gets every seat within five seconds.
    fn converge(&mut self) {
        // No reply is lost any more.
        self.losses = Losses::None;
        for node in &mut self.nodes {
            node.wire.cut.store(false, Relaxed);
            node.cut_since = None;
            node.seats.clear();
        }
        // What is kept back for processes that died.
        self.pass(RESERVED + 2 * LEASE);
        for _ in 0..50 {
            self.pass(Duration::from_millis(100));
            self.request(0);
            for at in 0..self.nodes.len() {
                self.nodes[at].registry.exchange(self.local(at));
                self.deliver(at);
            }
        }
        // Its requests may be refused by the rate.
        let stack = self.nodes[0]
            .registry
            .stack(1, &self.levels, Flow::named("laptop"));
        let mut waiting: Vec<_> = Vec::new();
        for _ in 0..50 {
            self.now += Duration::from_millis(100);
            self.table.sign_of_life(self.now);
            for queue in stack.seats(self.local(0)) {
                while let Some(seat) = queue.seats.try_acquire(queue.flow, 1) {
                    self.nodes[0].seats.push((seat, self.now));
                }
                waiting.push(queue.seats.acquire(queue.flow, 1));
            }
            for at in 0..self.nodes.len() {
                self.nodes[at].registry.exchange(self.local(at));
                self.deliver(at);
            }
        }
        assert_eq!(
            self.nodes[0].seats.len() as u64,
            self.capacity,
            "seats are lost"
        );
    }
}

fn schedule(seed: u64) {
    let mut world = World::new(seed);
    let since = world.now;
    for _ in 0..STEPS {
        world.step();
        world.check(since);
    }
    world.converge();
}

#[test]
fn no_schedule_exceeds_a_rate_or_its_seats() {
    super::run_all(schedule);
}
