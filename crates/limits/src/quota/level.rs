//! One level: its buckets, its seats and its budgets.
//!
//! Each level has its own lock, held for a few instructions. No two levels are locked at
//! the same time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::account::{Account, HeldMoney};
use super::accounts::{Accounts, BudgetUsage, NotHeld};
use super::alert::AlertSink;
use super::gcra::{Gcra, RateCharge, RateSpec, RateState};
use super::lease::LeaseBackend;
use super::level_id::LevelId;
use super::moment::Moment;
use super::refusal::{Refusal, RefusedBy};
use crate::bounds::Bounds;
use crate::policy::{BudgetWindow, LimitPolicy, Nanodollars, TrafficLimits};
use crate::semaphore::FairSemaphore;

/// Waiters for the seats of one level.
const WAITERS: usize = 4_096;

/// A level of limits.
pub struct Level {
    id: LevelId,
    state: Mutex<LevelState>,
}

struct LevelState {
    version: u64,
    policy: Arc<LimitPolicy>,
    requests: Option<Gcra>,
    tokens: Option<Gcra>,
    seats: Option<FairSemaphore>,
    accounts: Accounts,
    last_used: Duration,
}

impl Level {
    pub(super) fn new(
        id: LevelId,
        backend: Arc<dyn LeaseBackend>,
        alerts: Arc<dyn AlertSink>,
    ) -> Self {
        Self {
            id: id.clone(),
            state: Mutex::new(LevelState {
                version: 0,
                policy: Arc::default(),
                requests: None,
                tokens: None,
                seats: None,
                accounts: Accounts::new(id, backend, alerts),
                last_used: Duration::ZERO,
            }),
        }
    }

    /// The level's name.
    pub fn id(&self) -> &LevelId {
        &self.id
    }

    /// Applies a policy, unless a newer one is in effect.
    pub(super) fn configure(&self, version: u64, policy: &Arc<LimitPolicy>) {
        let mut state = self.lock();
        // Keys can change at run time, within one version of the configuration.
        if version < state.version {
            return;
        }
        state.version = version;
        if Arc::ptr_eq(&state.policy, policy) || *state.policy == **policy {
            return;
        }
        let TrafficLimits {
            requests_per_minute,
            tokens_per_minute,
            concurrent,
            queue: _,
        } = policy.traffic;
        set_rate(
            &mut state.requests,
            requests_per_minute.map(RateSpec::requests),
        );
        set_rate(&mut state.tokens, tokens_per_minute.map(RateSpec::tokens));
        match (&state.seats, concurrent) {
            (Some(seats), Some(units)) => seats.resize(units.get()),
            (_, None) => state.seats = None,
            (None, Some(units)) => {
                let bounds = Bounds::new(units.get()).waiters(WAITERS);
                state.seats = Some(FairSemaphore::new(bounds));
            }
        }
        state.policy = Arc::clone(policy);
    }

    pub(super) fn policy(&self) -> Arc<LimitPolicy> {
        Arc::clone(&self.lock().policy)
    }

    /// Charges one request.
    pub(super) fn charge_request(&self, now: Moment) -> Result<Option<RateCharge>, Refusal> {
        let mut state = self.lock();
        state.last_used = now.monotonic;
        self.charge(&mut state.requests, now, 1, RefusedBy::Requests)
    }

    /// Charges tokens.
    pub(super) fn charge_tokens(
        &self,
        now: Moment,
        tokens: u64,
    ) -> Result<Option<RateCharge>, Refusal> {
        let mut state = self.lock();
        state.last_used = now.monotonic;
        self.charge(&mut state.tokens, now, tokens, RefusedBy::Tokens)
    }

    fn charge(
        &self,
        bucket: &mut Option<Gcra>,
        now: Moment,
        cost: u64,
        limit: fn(u64) -> RefusedBy,
    ) -> Result<Option<RateCharge>, Refusal> {
        let Some(bucket) = bucket else {
            return Ok(None);
        };
        match bucket.charge(now.monotonic, cost) {
            Ok(charge) => Ok(Some(charge)),
            Err(wait) => Err(Refusal {
                level: self.id.clone(),
                limit: limit(bucket.spec().per_minute.get()),
                retry_after: Some(wait),
            }),
        }
    }

    pub(super) fn undo_request(&self, charge: RateCharge) {
        if let Some(bucket) = &mut self.lock().requests {
            bucket.undo(charge);
        }
    }

    pub(super) fn undo_tokens(&self, charge: RateCharge) {
        if let Some(bucket) = &mut self.lock().tokens {
            bucket.undo(charge);
        }
    }

    pub(super) fn settle_tokens(&self, now: Duration, charge: RateCharge, used: u64) {
        if let Some(bucket) = &mut self.lock().tokens {
            bucket.settle(now, charge, used);
        }
    }

    /// The seats, the longest wait for one, and their number.
    pub(super) fn seats(&self) -> Option<(FairSemaphore, Duration, u64)> {
        let state = self.lock();
        let traffic = &state.policy.traffic;
        let units = traffic.concurrent?.get();
        let queue = traffic.queue.unwrap_or(TrafficLimits::DEFAULT_QUEUE);
        Some((state.seats.clone()?, queue, units))
    }

    /// Holds an amount in every window of the budget, or in none. Appends to `held`.
    pub(super) fn hold(
        &self,
        now: Moment,
        amount: Option<Nanodollars>,
        held: &mut Vec<HeldMoney>,
        over: &mut Vec<(LevelId, BudgetWindow)>,
    ) -> Result<(), NotHeld> {
        let LevelState {
            accounts, policy, ..
        } = &mut *self.lock();
        accounts.hold(policy, now, amount, held, over)
    }

    /// The request and token buckets.
    pub(super) fn rates(&self, now: Duration) -> [Option<RateState>; 2] {
        let state = self.lock();
        [&state.requests, &state.tokens].map(|bucket| bucket.as_ref().map(|b| b.state(now)))
    }

    /// What is settled and reserved of every budget.
    pub fn budgets(&self, now: Moment) -> Vec<BudgetUsage> {
        let LevelState {
            accounts, policy, ..
        } = &mut *self.lock();
        accounts.usage(policy, now)
    }

    /// Asks the backend about budgets of which nothing is known yet.
    pub(super) fn look(&self, now: Moment) -> Vec<(Arc<Account>, u64)> {
        let LevelState {
            accounts, policy, ..
        } = &mut *self.lock();
        accounts.look(policy, now)
    }

    /// The live reservations: their number and their sum over all windows.
    pub fn open_reservations(&self) -> (u64, Nanodollars) {
        self.lock().accounts.open()
    }

    /// Gives leases back that were not used since. Returns whether the level as a whole may
    /// be forgotten.
    pub(super) fn sweep(&self, now: Duration, since: Duration) -> bool {
        let mut state = self.lock();
        let full = |bucket: &Option<Gcra>| bucket.as_ref().is_none_or(|b| b.is_full(now));
        let seated = |seats: &FairSemaphore| seats.available() < seats.total();
        state.accounts.sweep(now, since)
            && full(&state.requests)
            && full(&state.tokens)
            && !state.seats.as_ref().is_some_and(seated)
            && state.last_used <= since
    }

    /// Gives all leases back, those in use when their reservations end.
    pub(super) fn retire(&self) {
        self.lock().accounts.retire();
    }

    fn lock(&self) -> MutexGuard<'_, LevelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn set_rate(bucket: &mut Option<Gcra>, spec: Option<RateSpec>) {
    match (bucket.as_mut(), spec) {
        (Some(bucket), Some(spec)) => bucket.reconfigure(spec),
        (_, spec) => *bucket = spec.map(Gcra::new),
    }
}
