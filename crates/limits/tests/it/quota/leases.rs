//! The leases of an account, and its alerts.

use std::sync::{Arc, Mutex};

use majordomo_limits::{
    AlertSink, BudgetAlert, LeaseBackend, LevelKind, LimitRegistry, MemoryLeases, Nanodollars,
    Refusal, RefusedBy,
};

use super::store::SlowStore;
use super::{USD, at, daily, level, registry, reserve, tenant};

/// 2026-11-18.
const TODAY: i64 = 20_775;
const BUDGET: &str = "key/k/day";

fn left(refusal: &Refusal) -> u64 {
    match refusal.limit {
        RefusedBy::Budget { left, .. } => left.0,
        _ => panic!("{refusal:?}"),
    }
}

fn leased(backend: &MemoryLeases) -> u64 {
    backend.sums(BUDGET, TODAY).1.0
}

#[test]
fn a_request_that_does_not_fit_leases_nothing() {
    let backend = Arc::<MemoryLeases>::default();
    let nodes = [(); 2].map(|()| registry(backend.clone()));
    let stacks = nodes
        .each_ref()
        .map(|node| node.stack(1, &[level(LevelKind::Key, "k", daily(USD))], tenant()));
    for _ in 0..3 {
        let refusal = reserve(&stacks[0], at(1, TODAY), 5 * USD).err().unwrap();
        assert_eq!((left(&refusal), leased(&backend)), (USD, 0));
    }
    // All of it is there for the other node.
    assert!(reserve(&stacks[1], at(1, TODAY), USD).is_ok());
}

#[test]
fn refused_requests_do_not_enlarge_the_slices() {
    let backend = Arc::<MemoryLeases>::default();
    let registry = registry(backend.clone());
    let stack = registry.stack(1, &[level(LevelKind::Key, "k", daily(USD))], tenant());
    for _ in 0..10 {
        assert!(reserve(&stack, at(1, TODAY), 5 * USD).is_err());
    }
    let held = reserve(&stack, at(2, TODAY), USD / 1_000).unwrap();
    assert!(leased(&backend) <= USD / 250, "{}", leased(&backend));
    drop(held);
}

#[test]
fn what_is_left_after_a_refusal_can_be_reserved_at_once() {
    let registry = registry(Arc::<MemoryLeases>::default());
    let stack = registry.stack(1, &[level(LevelKind::Key, "k", daily(USD))], tenant());
    let first = reserve(&stack, at(1, TODAY), USD / 3).unwrap();
    let refusal = reserve(&stack, at(1, TODAY), USD).err().unwrap();
    assert_eq!(left(&refusal), USD - USD / 3);
    let rest = reserve(&stack, at(1, TODAY), left(&refusal)).unwrap();
    assert_eq!(left(&reserve(&stack, at(1, TODAY), 1).err().unwrap()), 0);
    drop((first, rest));
}

#[test]
fn what_settles_above_its_reservation_is_covered_by_the_next_lease() {
    let registry = registry(Arc::<MemoryLeases>::default());
    let stack = registry.stack(1, &[level(LevelKind::Key, "k", daily(USD))], tenant());
    let under_way = reserve(&stack, at(1, TODAY), USD / 100).unwrap();
    let low = reserve(&stack, at(1, TODAY), USD / 100).unwrap();
    low.settle(at(1, TODAY).monotonic, 1, Nanodollars(USD / 2));
    // 0.49 USD are left, although little is leased.
    let next = reserve(&stack, at(10, TODAY), USD / 4);
    assert!(next.is_ok(), "{:?}", next.err());
    drop((under_way, next));
}

#[test]
fn one_lease_covers_all_who_wait_for_it() {
    let store = Arc::<SlowStore>::default();
    let registry = registry(store.clone());
    let stack = registry.stack(1, &[level(LevelKind::Key, "k", daily(USD))], tenant());
    let ask = majordomo_limits::ReservationAsk {
        tokens: 1,
        cost: Some(Nanodollars(USD / 1_000)),
    };
    let held = || match stack.reserve(at(1, TODAY), ask) {
        majordomo_limits::ReserveOutcome::Held(held) => Some(held),
        _ => None,
    };
    assert_eq!((0..100).filter_map(|_| held()).count(), 0);
    // The first reservation alone requested the first lease; the second lease accounts for the
    // others.
    store.reply(true);
    let first = held();
    assert!(first.is_some());
    store.reply(true);
    let others: Vec<_> = (0..99).filter_map(|_| held()).collect();
    assert_eq!(others.len(), 99);
}

#[derive(Default)]
struct Heard(Mutex<Vec<u8>>);

impl AlertSink for Heard {
    fn alert(&self, alert: BudgetAlert) {
        self.0.lock().unwrap().push(alert.percent);
    }
}

#[test]
fn each_alert_is_sent_once_per_window_also_after_an_idle_time() {
    let heard = Arc::<Heard>::default();
    let backend: Arc<dyn LeaseBackend> = Arc::<MemoryLeases>::default();
    let registry = LimitRegistry::new(backend, heard.clone());
    for kind in [LevelKind::Key, LevelKind::EndUser] {
        heard.0.lock().unwrap().clear();
        let spend = |seconds: u64, day: i64, cost: u64| {
            let stack = registry.stack(1, &[level(kind, "k", daily(USD))], tenant());
            if let Ok(held) = reserve(&stack, at(seconds, day), cost) {
                held.settle(at(seconds, day).monotonic, 1, Nanodollars(cost));
            }
        };
        spend(1, TODAY, USD * 9 / 10);
        spend(1, TODAY, USD / 2);
        assert_eq!(*heard.0.lock().unwrap(), [50, 80, 100], "{kind:?}");
        for minutes in [1, 2, 300] {
            registry.sweep(at(minutes * 60, TODAY).monotonic);
            spend(minutes * 60, TODAY, USD / 2);
        }
        assert_eq!(*heard.0.lock().unwrap(), [50, 80, 100], "{kind:?}");
        spend(90_000, TODAY + 1, USD);
        let all = [50, 80, 100, 50, 80, 100];
        assert_eq!(*heard.0.lock().unwrap(), all, "{kind:?}: a new window");
    }
}
