//! Budgets of several nodes: settled + leased ≤ limit at every moment, whichever nodes die.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use majordomo_limits::{
    BudgetLimits, ClosedLease, Flow, LeaseAsk, LeaseBackend, LeaseGrant, LeaseReply, LevelId,
    LevelKind, LevelPolicy, LimitPolicy, LimitRegistry, Moment, Nanodollars, NoAlerts, Reservation,
    ReservationAsk, ReserveOutcome,
};

const NODES: usize = 3;
const STEPS: usize = 200;

/// The shared store: one transaction per operation, as in PostgreSQL.
#[derive(Default)]
struct BudgetStore {
    settled: u64,
    leases: BTreeMap<i64, (u64, u64)>,
    last: i64,
}

impl BudgetStore {
    fn leased(&self) -> u64 {
        self.leases.values().map(|(_, amount)| amount).sum()
    }

    fn grant(&mut self, run: u64, ask: &LeaseAsk) -> LeaseGrant {
        let taken = Nanodollars(self.settled + self.leased());
        let amount = ask.granted_of(taken);
        self.last += 1;
        if amount > Nanodollars::ZERO {
            self.leases.insert(self.last, (run, amount.0));
        }
        LeaseGrant {
            id: self.last,
            amount,
            taken,
        }
    }

    /// Leases that a run left open count as spent.
    fn close_run(&mut self, run: u64) {
        let open: Vec<i64> = self
            .leases
            .iter()
            .filter(|(_, (of, _))| *of == run)
            .map(|(id, _)| *id)
            .collect();
        for id in open {
            self.settled += self.leases.remove(&id).expect("just found").1;
        }
    }
}

enum Operation {
    Grant(LeaseAsk, LeaseReply),
    Close(ClosedLease),
}

/// A node's channel to the store: in order, and only when the schedule allows.
#[derive(Default)]
struct StoreQueue(Mutex<VecDeque<Operation>>);

impl LeaseBackend for StoreQueue {
    fn grant(&self, ask: LeaseAsk, reply: LeaseReply) {
        self.0
            .lock()
            .expect("not poisoned")
            .push_back(Operation::Grant(ask, reply));
    }

    fn close(&self, lease: ClosedLease) {
        self.0
            .lock()
            .expect("not poisoned")
            .push_back(Operation::Close(lease));
    }

    fn nodes(&self) -> u64 {
        NODES as u64
    }
}

struct Node {
    run: u64,
    queue: Arc<StoreQueue>,
    registry: LimitRegistry,
    held: Vec<(Reservation, u64)>,
    cut: bool,
    /// The offset of its wall clock from the true one, in days.
    skew: i64,
}

impl Node {
    fn start(run: u64, skew: i64) -> Self {
        let queue = Arc::<StoreQueue>::default();
        Self {
            run,
            registry: LimitRegistry::new(queue.clone(), Arc::new(NoAlerts)),
            queue,
            held: Vec::new(),
            cut: false,
            skew,
        }
    }
}

fn schedule(seed: u64) {
    let mut random = Rng::with_seed(seed);
    let limit = random.u64(1..5_000);
    let policy = LimitPolicy {
        budget: BudgetLimits {
            total: Some(Nanodollars(limit)),
            ..BudgetLimits::default()
        },
        ..LimitPolicy::default()
    };
    let levels = [LevelPolicy {
        id: LevelId::new(LevelKind::Key, "laptop"),
        policy: Arc::new(policy),
    }];
    let mut store = BudgetStore::default();
    let mut runs = 0;
    let mut start = |random: &mut Rng| {
        runs += 1;
        Node::start(runs, random.i64(-1..=1))
    };
    let mut nodes: Vec<Node> = (0..NODES).map(|_| start(&mut random)).collect();
    let mut now = Duration::ZERO;
    // Payments to providers by all nodes, dead ones included.
    let mut paid = 0;
    for _ in 0..STEPS {
        now += Duration::from_millis(random.u64(0..200));
        let at = random.usize(0..NODES);
        match random.u8(0..100) {
            0..45 => {
                let node = &mut nodes[at];
                let stack = node.registry.stack(1, &levels, Flow::named("laptop"));
                let day = node.skew;
                let moment = Moment {
                    monotonic: now,
                    day,
                };
                let amount = random.u64(1..limit / 4 + 2);
                let ask = ReservationAsk {
                    tokens: 0,
                    cost: Some(Nanodollars(amount)),
                };
                if let ReserveOutcome::Held(reservation) = stack.reserve(moment, ask) {
                    node.held.push((reservation, amount));
                }
            }
            45..65 => {
                let node = &mut nodes[at];
                if !node.held.is_empty() {
                    let one = random.usize(0..node.held.len());
                    let (reservation, amount) = node.held.swap_remove(one);
                    let used = random.u64(0..=amount);
                    paid += used;
                    reservation.settle(now, 0, Nanodollars(used));
                }
            }
            65..90 => serve(&mut nodes[at], &mut store, &mut random),
            90..94 => {
                // kill -9: attempts in flight were paid at most in full.
                let dead = std::mem::replace(&mut nodes[at], start(&mut random));
                paid += dead.held.iter().map(|(_, amount)| amount).sum::<u64>();
                store.close_run(dead.run);
                // The dead process says nothing any more.
                dead.queue.0.lock().expect("not poisoned").clear();
                dead.held
                    .into_iter()
                    .for_each(|(held, _)| std::mem::forget(held));
            }
            94..97 => nodes[at].cut = !nodes[at].cut,
            _ => nodes[at].registry.sweep(now + Duration::from_secs(60)),
        }
        let leased = store.leased();
        assert!(
            store.settled + leased <= limit,
            "{} + {leased} > {limit}",
            store.settled
        );
        let open: u64 = nodes
            .iter()
            .flat_map(|node| &node.held)
            .map(|(_, amount)| amount)
            .sum();
        assert!(
            paid + open <= limit,
            "{paid} paid and {open} held of {limit}"
        );
    }
    // Healed and idle: nothing is lost but what dead nodes held.
    for node in &mut nodes {
        node.cut = false;
        for (reservation, _) in node.held.drain(..) {
            drop(reservation);
        }
        node.registry.retire();
        while serve_one(node, &mut store) {}
    }
    assert_eq!(store.leased(), 0, "every lease is closed");
}

fn serve(node: &mut Node, store: &mut BudgetStore, random: &mut Rng) {
    if node.cut {
        // Replies do not come, and leases to be closed wait.
        let mut queue = node.queue.0.lock().expect("not poisoned");
        let operations: Vec<_> = queue.drain(..).collect();
        let (grants, closes): (Vec<_>, Vec<_>) = operations
            .into_iter()
            .partition(|operation| matches!(operation, Operation::Grant(..)));
        queue.extend(closes);
        drop(queue);
        drop(grants);
        return;
    }
    for _ in 0..random.usize(1..4) {
        // A grant whose reply is lost: the connection ends, and its leases with it.
        let lost = random.u8(0..20) == 0;
        let first = node.queue.0.lock().expect("not poisoned").pop_front();
        match first {
            Some(Operation::Grant(ask, reply)) if lost => {
                let abandoned = u64::MAX - node.run;
                store.grant(abandoned, &ask);
                store.close_run(abandoned);
                drop(reply);
            }
            Some(operation) => apply(node.run, operation, store),
            None => return,
        }
    }
}

fn serve_one(node: &Node, store: &mut BudgetStore) -> bool {
    let first = node.queue.0.lock().expect("not poisoned").pop_front();
    let Some(operation) = first else {
        return false;
    };
    apply(node.run, operation, store);
    true
}

fn apply(run: u64, operation: Operation, store: &mut BudgetStore) {
    match operation {
        Operation::Grant(ask, reply) => {
            let grant = store.grant(run, &ask);
            reply.granted(grant);
        }
        Operation::Close(lease) => {
            if store.leases.remove(&lease.id).is_some() {
                store.settled += lease.spent.0;
            }
        }
    }
}

#[test]
fn no_schedule_spends_more_than_a_budget() {
    super::run_all(schedule);
}
