//! One level: its buckets, its seats and its budgets.
//!
//! Each level has its own lock, held for a few instructions. No two levels are locked at
//! the same time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::account::{Account, HeldMoney};
use super::accounts::{Accounts, BudgetUsage, NotHeld};
use super::alert::AlertSink;
use super::gcra::{RateSpec, RateState};
use super::lease::LeaseBackend;
use super::level_id::LevelId;
use super::level_traffic::{Bucket, Seats};
use super::moment::Moment;
use super::traffic::TrafficBackend;
use crate::policy::{BudgetWindow, LimitPolicy, Nanodollars, TrafficLimits};

/// A level of limits.
pub struct Level {
    id: LevelId,
    state: Mutex<LevelState>,
    /// Set if nodes share rates and seats.
    pub(super) traffic: Option<Arc<dyn TrafficBackend>>,
    /// Wakes requests that wait for a reply of that backend.
    pub(super) replied: Notify,
}

pub(super) struct LevelState {
    version: u64,
    pub(super) policy: Arc<LimitPolicy>,
    pub(super) requests: Option<Bucket>,
    pub(super) tokens: Option<Bucket>,
    pub(super) seats: Option<Seats>,
    accounts: Accounts,
    pub(super) last_used: Duration,
}

impl Level {
    pub(super) fn new(
        id: LevelId,
        backend: Arc<dyn LeaseBackend>,
        alerts: Arc<dyn AlertSink>,
        traffic: Option<Arc<dyn TrafficBackend>>,
    ) -> Self {
        Self {
            id: id.clone(),
            traffic,
            replied: Notify::new(),
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
        let requests = requests_per_minute.map(RateSpec::requests);
        let tokens = tokens_per_minute.map(RateSpec::tokens);
        self.set_traffic(&mut state, requests, tokens, concurrent);
        state.policy = Arc::clone(policy);
    }

    pub(super) fn policy(&self) -> Arc<LimitPolicy> {
        Arc::clone(&self.lock().policy)
    }

    /// Reserves an amount in every window of the budget, or in none. Appends to `held`.
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

    /// The settled and reserved amounts of every budget.
    pub fn budgets(&self, now: Moment) -> Vec<BudgetUsage> {
        let LevelState {
            accounts, policy, ..
        } = &mut *self.lock();
        accounts.usage(policy, now)
    }

    /// Queries the backend about budgets whose state is unknown.
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

    /// Returns leases that were not used since then. The result is whether the whole level may
    /// be forgotten.
    pub(super) fn sweep(&self, now: Duration, since: Duration) -> bool {
        let mut state = self.lock();
        let full = |bucket: &Option<Bucket>| bucket.as_ref().is_none_or(|b| b.is_idle(now));
        state.accounts.sweep(now, since)
            && full(&state.requests)
            && full(&state.tokens)
            && state.seats.as_ref().is_none_or(|seats| seats.is_idle(now))
            && state.last_used <= since
    }

    /// Returns all leases; those in use follow when their reservations end.
    pub(super) fn retire(&self) {
        self.lock().accounts.retire();
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, LevelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
