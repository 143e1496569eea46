//! One level: its buckets, its seats and its budgets.
//!
//! Each level has its own lock, held for a few instructions. No two levels are locked at
//! the same time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::account::{Account, AccountTerms, Hold};
use super::alert::AlertSink;
use super::gcra::{Gcra, RateCharge, RateSpec, RateState};
use super::lease::LeaseBackend;
use super::level_id::LevelId;
use super::moment::Moment;
use super::refusal::{Refusal, RefusedBy};
use crate::bounds::Bounds;
use crate::policy::{BudgetWindow, LimitPolicy, Nanodollars, TrafficLimits, WhenExhausted};
use crate::semaphore::FairSemaphore;

/// Waiters for the seats of one level.
const WAITERS: usize = 4_096;

/// Money held of one account.
pub(super) struct HeldMoney {
    pub(super) account: Arc<Account>,
    pub(super) amount: Nanodollars,
}

/// Why an amount is not held.
pub(super) enum NotHeld {
    Waiting { account: Arc<Account>, replies: u64 },
    Refused(Refusal),
}

/// A level of limits.
pub struct Level {
    id: LevelId,
    backend: Arc<dyn LeaseBackend>,
    alerts: Arc<dyn AlertSink>,
    state: Mutex<LevelState>,
}

struct LevelState {
    version: u64,
    policy: Arc<LimitPolicy>,
    requests: Option<Gcra>,
    tokens: Option<Gcra>,
    seats: Option<FairSemaphore>,
    /// The largest window seen, by kind: a clock that jumps back reopens none.
    windows: [i64; 4],
    accounts: [Option<Arc<Account>>; 4],
    /// Accounts of earlier windows or limits whose reservations are not settled yet.
    retired: Vec<Arc<Account>>,
    last_used: Duration,
}

impl Level {
    pub(super) fn new(
        id: LevelId,
        backend: Arc<dyn LeaseBackend>,
        alerts: Arc<dyn AlertSink>,
    ) -> Self {
        Self {
            id,
            backend,
            alerts,
            state: Mutex::new(LevelState {
                version: 0,
                policy: Arc::default(),
                requests: None,
                tokens: None,
                seats: None,
                windows: [i64::MIN; 4],
                accounts: Default::default(),
                retired: Vec::new(),
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
        let mut state = self.lock();
        if state.policy.budget.is_empty() {
            return Ok(());
        }
        let Some(amount) = amount else {
            return match state.policy.unpriced {
                crate::policy::UnpricedPolicy::Allow => Ok(()),
                crate::policy::UnpricedPolicy::Refuse => Err(NotHeld::Refused(Refusal {
                    level: self.id.clone(),
                    limit: RefusedBy::Unpriced,
                    retry_after: None,
                })),
            };
        };
        for window in BudgetWindow::ALL {
            let Some(account) = self.account(&mut state, now, window) else {
                continue;
            };
            match account.hold(now.monotonic, amount) {
                Hold::Held => {
                    if !account.terms.strict && account.is_over() {
                        over.push((self.id.clone(), window));
                    }
                    held.push(HeldMoney { account, amount });
                }
                Hold::Waiting { replies } => return Err(NotHeld::Waiting { account, replies }),
                Hold::Short { left } => {
                    let limit = RefusedBy::Budget {
                        window,
                        reset_day: window.end_day(account.terms.number),
                        limit: account.terms.limit,
                        left,
                        when_exhausted: state.policy.when_exhausted.clone(),
                    };
                    return Err(NotHeld::Refused(Refusal {
                        level: self.id.clone(),
                        limit,
                        retry_after: None,
                    }));
                }
                Hold::Unreachable { retry_after } => {
                    return Err(NotHeld::Refused(Refusal {
                        level: self.id.clone(),
                        limit: RefusedBy::Unreachable(window),
                        retry_after: Some(retry_after),
                    }));
                }
            }
        }
        Ok(())
    }

    /// The account of the current window, a new one after the window or the limit changed.
    fn account(
        &self,
        state: &mut LevelState,
        now: Moment,
        window: BudgetWindow,
    ) -> Option<Arc<Account>> {
        let at = window as usize;
        let Some(limit) = state.policy.budget.of(window) else {
            let old = state.accounts[at].take();
            state.retire(old);
            return None;
        };
        let number = window.number(now.day).max(state.windows[at]);
        state.windows[at] = number;
        let strict = state.policy.when_exhausted != WhenExhausted::Warn;
        if let Some(account) = &state.accounts[at] {
            let terms = &account.terms;
            if terms.number == number && terms.limit == limit && terms.strict == strict {
                return Some(Arc::clone(account));
            }
            let old = state.accounts[at].take();
            state.retire(old);
        }
        let terms = AccountTerms {
            level: self.id.clone(),
            window,
            number,
            limit,
            strict,
        };
        let account = Account::new(terms, Arc::clone(&self.backend), Arc::clone(&self.alerts));
        state.accounts[at] = Some(Arc::clone(&account));
        Some(account)
    }

    /// The request and token buckets.
    pub(super) fn rates(&self, now: Duration) -> [Option<RateState>; 2] {
        let state = self.lock();
        [&state.requests, &state.tokens].map(|bucket| bucket.as_ref().map(|b| b.state(now)))
    }

    /// What is settled and reserved of every budget.
    pub fn budgets(&self, now: Moment) -> Vec<BudgetUsage> {
        let mut state = self.lock();
        let windows = BudgetWindow::ALL.into_iter();
        let usage = windows.filter_map(|window| {
            let account = self.account(&mut state, now, window)?;
            let (settled, reserved) = account.usage();
            Some(BudgetUsage {
                level: self.id.clone(),
                window,
                limit: account.terms.limit,
                settled,
                reserved,
                reset_day: window.end_day(account.terms.number),
            })
        });
        usage.collect()
    }

    /// The live reservations: their number and their sum over all windows.
    pub fn open_reservations(&self) -> (u64, Nanodollars) {
        let state = self.lock();
        let accounts = state.accounts.iter().flatten().chain(&state.retired);
        accounts.fold((0, Nanodollars::ZERO), |(count, sum), account| {
            let (more, amount) = account.open();
            (count + more, sum.plus(amount))
        })
    }

    /// Gives leases back that were not used since. Returns whether the level as a whole may
    /// be forgotten.
    pub(super) fn sweep(&self, now: Duration, since: Duration) -> bool {
        let mut state = self.lock();
        for at in 0..state.accounts.len() {
            let idle = state.accounts[at].take_if(|account| account.is_idle_since(since));
            state.retire(idle);
        }
        let full = |bucket: &Option<Gcra>| bucket.as_ref().is_none_or(|b| b.is_full(now));
        let seated = |seats: &FairSemaphore| seats.available() < seats.total();
        state.accounts.iter().all(Option::is_none)
            && state.retired.is_empty()
            && full(&state.requests)
            && full(&state.tokens)
            && !state.seats.as_ref().is_some_and(seated)
            && state.last_used <= since
    }

    /// Gives all leases back, those in use when their reservations end.
    pub(super) fn retire(&self) {
        let mut state = self.lock();
        for account in std::mem::take(&mut state.accounts) {
            state.retire(account);
        }
    }

    fn lock(&self) -> MutexGuard<'_, LevelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LevelState {
    /// Retires an account, and remembers it until its reservations are settled.
    fn retire(&mut self, account: Option<Arc<Account>>) {
        self.retired.retain(|account| account.open().0 > 0);
        if let Some(account) = account {
            account.retire();
            if account.open().0 > 0 {
                self.retired.push(account);
            }
        }
    }
}

/// A budget and what is used of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetUsage {
    /// Whose budget.
    pub level: LevelId,
    /// The window.
    pub window: BudgetWindow,
    /// The budget.
    pub limit: Nanodollars,
    /// What is settled, as far as this node knows.
    pub settled: Nanodollars,
    /// What this node has reserved.
    pub reserved: Nanodollars,
    /// The first day of the next window.
    pub reset_day: Option<i64>,
}

fn set_rate(bucket: &mut Option<Gcra>, spec: Option<RateSpec>) {
    match (bucket.as_mut(), spec) {
        (Some(bucket), Some(spec)) => bucket.reconfigure(spec),
        (_, spec) => *bucket = spec.map(Gcra::new),
    }
}
