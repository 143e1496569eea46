//! A store that replies late, or never, and checks its requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use majordomo_limits::{ClosedLease, LeaseAsk, LeaseBackend, LeaseGrant, LeaseReply, Nanodollars};

#[derive(Default)]
pub(super) struct SlowStore(Mutex<State>);

#[derive(Default)]
struct State {
    windows: BTreeMap<(Arc<str>, i64), (u64, u64)>,
    latest: BTreeMap<Arc<str>, i64>,
    waiting: Vec<(LeaseAsk, LeaseReply)>,
    open: BTreeMap<i64, u64>,
    last: i64,
    /// What was spent above leases.
    above: u64,
}

impl SlowStore {
    /// Replies to the oldest request, or drops it.
    pub(super) fn reply(&self, reachable: bool) -> bool {
        let mut state = self.0.lock().unwrap();
        if state.waiting.is_empty() {
            return false;
        }
        let (ask, reply) = state.waiting.remove(0);
        if !reachable {
            drop(state);
            drop(reply);
            return true;
        }
        state.last += 1;
        let id = state.last;
        let sums = state
            .windows
            .entry((ask.budget.clone(), ask.window))
            .or_default();
        let taken = sums.0 + sums.1;
        let amount = ask.granted_of(Nanodollars(taken)).0;
        sums.1 += amount;
        assert!(
            amount == 0 || sums.0 + sums.1 <= ask.limit.0,
            "settled + leased > limit: {ask:?}"
        );
        if amount > 0 {
            state.open.insert(id, amount);
        }
        drop(state);
        let (amount, taken) = (Nanodollars(amount), Nanodollars(taken));
        reply.granted(LeaseGrant { id, amount, taken });
        true
    }

    /// The settled amount of a window.
    pub(super) fn settled(&self, budget: &str, window: i64) -> u64 {
        let state = self.0.lock().unwrap();
        let sums = state.windows.get(&(budget.into(), window));
        sums.map_or(0, |sums| sums.0)
    }

    /// What was spent above leases.
    pub(super) fn above(&self) -> u64 {
        self.0.lock().unwrap().above
    }

    /// The settled and leased amounts, over all budgets.
    pub(super) fn sums(&self) -> (u64, u64) {
        let state = self.0.lock().unwrap();
        let all = state.windows.values();
        all.fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1))
    }
}

impl LeaseBackend for SlowStore {
    fn grant(&self, ask: LeaseAsk, reply: LeaseReply) {
        let mut state = self.0.lock().unwrap();
        let latest = state.latest.entry(ask.budget.clone()).or_insert(i64::MIN);
        assert!(ask.window >= *latest, "a window was reopened: {ask:?}");
        *latest = ask.window;
        state.waiting.push((ask, reply));
    }

    fn close(&self, lease: ClosedLease) {
        let mut state = self.0.lock().unwrap();
        let amount = state
            .open
            .remove(&lease.id)
            .expect("a lease is closed once");
        assert_eq!(amount, lease.amount.0);
        state.above += lease.spent.minus(lease.amount).0;
        let sums = state
            .windows
            .get_mut(&(lease.budget, lease.window))
            .expect("a known window");
        sums.1 -= amount;
        sums.0 += lease.spent.0;
    }
}
