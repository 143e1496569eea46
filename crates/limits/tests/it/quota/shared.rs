//! Rates and seats that nodes share, as one node sees them.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use majordomo_limits::{
    ChargeOutcome, LevelKind, LimitPolicy, LimitRegistry, LimitStack, MemoryLeases, Moment,
    NoAlerts, TrafficAsk, TrafficBackend, TrafficGrant, TrafficLimits, TrafficReply,
};

use super::{at, level, rates, tenant};

const NODES: u64 = 3;

/// A store that replies when the test tells it to.
#[derive(Default)]
struct SlowTraffic {
    asks: Mutex<Vec<(TrafficAsk, TrafficReply)>>,
    away: AtomicBool,
    away_for: Mutex<Duration>,
}

impl TrafficBackend for SlowTraffic {
    fn exchange(&self, ask: TrafficAsk, reply: TrafficReply) {
        self.asks.lock().expect("not poisoned").push((ask, reply));
    }

    fn is_up(&self) -> bool {
        !self.away.load(Relaxed)
    }

    fn away_for(&self) -> Duration {
        *self.away_for.lock().expect("not poisoned")
    }

    fn nodes(&self) -> u64 {
        NODES
    }
}

impl SlowTraffic {
    /// Grants this much to the caller that asked, and returns the request.
    fn grant(&self, held: u64) -> Vec<TrafficAsk> {
        let asks = std::mem::take(&mut *self.asks.lock().expect("not poisoned"));
        let grant = TrafficGrant {
            held,
            usable: held,
            lasts: Duration::from_millis(3_500),
            wait: Duration::from_secs(2),
            ..TrafficGrant::default()
        };
        let granted = asks.into_iter().map(|(ask, reply)| {
            reply.granted(grant);
            ask
        });
        granted.collect()
    }
}

fn shared(policy: LimitPolicy) -> (Arc<SlowTraffic>, LimitRegistry, LimitStack) {
    let store = Arc::<SlowTraffic>::default();
    let registry = LimitRegistry::new(Arc::<MemoryLeases>::default(), Arc::new(NoAlerts));
    let registry = registry.sharing(store.clone());
    let stack = registry.stack(1, &[level(LevelKind::Key, "laptop", policy)], tenant());
    (store, registry, stack)
}

fn admitted(stack: &LimitStack, now: Moment, tries: usize) -> usize {
    let charged = |_: &usize| matches!(stack.charge_request(now), ChargeOutcome::Charged(_));
    (0..tries).filter(charged).count()
}

#[test]
fn what_a_node_holds_is_used_without_asking() {
    let (store, _registry, stack) = shared(rates(3_600, 1_000));
    assert!(matches!(
        stack.charge_request(at(1, 0)),
        ChargeOutcome::Waiting(_)
    ));
    let asks = store.grant(5);
    assert_eq!((asks.len(), asks[0].least), (1, 1));
    assert_eq!(&*asks[0].limit, "key/laptop/requests");
    assert_eq!(admitted(&stack, at(1, 0), 5), 5);
    // The next exchange, in the background, reports them.
    assert!(matches!(
        stack.charge_request(at(1, 0)),
        ChargeOutcome::Waiting(_)
    ));
    let asks = store.grant(0);
    assert!(asks[0].spent >= 3, "{asks:?}");
}

#[test]
fn what_is_held_ends_before_the_store_says_so() {
    let (store, _registry, stack) = shared(rates(60, 1_000));
    let _ = stack.charge_request(at(1, 0));
    store.grant(5);
    assert_eq!(admitted(&stack, at(4, 0), 1), 1);
    assert_eq!(admitted(&stack, at(5, 0), 1), 0, "the lease is over");
}

#[test]
fn a_store_that_has_nothing_refuses_until_it_may_have() {
    let (store, _registry, stack) = shared(rates(60, 1_000));
    let _ = stack.charge_request(at(1, 0));
    store.grant(0);
    let ChargeOutcome::Refused(refusal) = stack.charge_request(at(1, 0)) else {
        panic!("nothing is left");
    };
    assert_eq!(refusal.retry_after, Some(Duration::from_secs(2)));
    assert!(matches!(
        stack.charge_request(at(3, 0)),
        ChargeOutcome::Waiting(_)
    ));
}

#[test]
fn without_the_store_a_node_enforces_its_share() {
    let (store, _registry, stack) = shared(rates(90, 1_000));
    store.away.store(true, Relaxed);
    // A burst of 15, divided by three.
    assert_eq!(admitted(&stack, at(1, 0), 100), 5);
    assert_eq!(admitted(&stack, at(61, 0), 100), 5);
    assert!(store.grant(0).is_empty(), "it is not asked");
}

#[test]
fn an_outage_begins_without_a_second_burst() {
    // A burst of 60; the share's is 20.
    let (store, _registry, stack) = shared(rates(360, 1_000));
    let _ = stack.charge_request(at(1, 0));
    store.grant(20);
    assert_eq!(admitted(&stack, at(1, 0), 20), 20);
    store.away.store(true, Relaxed);
    assert_eq!(admitted(&stack, at(1, 0), 100), 0);
    // The amount that the share's bucket has leaked since.
    assert_eq!(admitted(&stack, at(5, 0), 100), 8);
}

#[test]
fn a_request_that_waited_in_vain_is_decided_by_the_share() {
    let (_store, _registry, stack) = shared(rates(60, 1_000));
    let ChargeOutcome::Waiting(wait) = stack.charge_request(at(1, 0)) else {
        panic!("nothing is held");
    };
    assert!(wait.expire(Duration::from_millis(1_050)));
    let now = Moment {
        monotonic: Duration::from_millis(1_050),
        day: 0,
    };
    assert!(matches!(
        stack.charge_request(now),
        ChargeOutcome::Charged(_)
    ));
}

/// Six seats, and what a node can take of them at a time.
fn six_seats() -> (
    Arc<SlowTraffic>,
    LimitRegistry,
    impl Fn(u64) -> Vec<majordomo_limits::Permit>,
) {
    let policy = LimitPolicy {
        traffic: TrafficLimits {
            concurrent: NonZeroU64::new(6),
            ..TrafficLimits::default()
        },
        ..LimitPolicy::default()
    };
    let (store, registry, stack) = shared(policy);
    let take = move |seconds: u64| {
        let mut queues = stack.seats(Duration::from_secs(seconds));
        let queue = queues.next().expect("seats");
        let seats = (0..9).map_while(|_| queue.seats.try_acquire(queue.flow, 1));
        seats.collect::<Vec<_>>()
    };
    (store, registry, take)
}

impl SlowTraffic {
    fn lose(&self, away_for: u64) {
        self.away.store(true, Relaxed);
        *self.away_for.lock().expect("not poisoned") = Duration::from_secs(away_for);
    }
}

#[test]
fn without_the_store_seats_are_held_for_their_lease_and_then_as_far_as_they_are_the_share() {
    let (store, registry, take) = six_seats();
    assert!(take(1).is_empty());
    store.grant(4);
    let held = take(1);
    assert_eq!(held.len(), 4);
    store.lose(0);
    registry.exchange(Duration::from_secs(2));
    assert!(take(2).is_empty());
    drop(held);
    assert_eq!(take(2).len(), 4, "the lease lasts");
    assert_eq!(take(5).len(), 2, "the share");
}

#[test]
fn a_node_that_held_less_than_its_share_gets_it_when_no_other_node_uses_a_lease() {
    for (granted, at_first) in [(0, 0), (1, 1)] {
        let (store, _registry, take) = six_seats();
        assert!(take(1).is_empty());
        store.grant(granted);
        store.lose(3);
        assert_eq!(take(5).len(), at_first);
        store.lose(7);
        assert_eq!(take(9).len(), at_first);
        store.lose(8);
        assert_eq!(take(10).len(), 2);
    }
}

#[test]
fn a_node_that_comes_back_claims_what_it_used_alone() {
    let (store, registry, take) = six_seats();
    store.lose(8);
    let used = take(10);
    assert_eq!(used.len(), 2);
    store.away.store(false, Relaxed);
    *store.away_for.lock().expect("not poisoned") = Duration::ZERO;
    registry.exchange(Duration::from_secs(20));
    let asks = store.grant(2);
    assert_eq!(asks.len(), 1);
    assert_eq!((asks[0].in_use, asks[0].claim, asks[0].share), (2, 2, 2));
}
