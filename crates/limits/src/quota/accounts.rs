//! The budgets of one level: the account of each window, and the state that outlives an
//! account.

use std::sync::Arc;
use std::time::Duration;

use super::account::{Account, AccountTerms, HeldMoney, Hold};
use super::alert::{AlertSink, AlertSteps};
use super::lease::LeaseBackend;
use super::level_id::LevelId;
use super::moment::Moment;
use super::refusal::{Refusal, RefusedBy};
use crate::policy::{BudgetWindow, LimitPolicy, Nanodollars, UnpricedPolicy, WhenExhausted};

/// How long an idle level remembers that an alert was sent.
const REMEMBERED: Duration = Duration::from_secs(24 * 3_600);

/// Why an amount is not reserved.
pub(super) enum NotHeld {
    Waiting { account: Arc<Account>, replies: u64 },
    Refused(Refusal),
}

/// The accounts of a level.
pub(super) struct Accounts {
    level: LevelId,
    backend: Arc<dyn LeaseBackend>,
    alerts: Arc<dyn AlertSink>,
    windows: [WindowState; 4],
    /// Accounts of earlier windows or limits whose reservations are not settled yet.
    retired: Vec<Arc<Account>>,
}

struct WindowState {
    /// The largest window number seen, so that a clock that jumps back reopens no window.
    number: i64,
    account: Option<Arc<Account>>,
    announced: Option<Announced>,
}

/// The alerts of a forgotten idle account, so that its successor does not repeat them.
struct Announced {
    number: i64,
    limit: Nanodollars,
    steps: AlertSteps,
    at: Duration,
}

impl Accounts {
    pub(super) fn new(
        level: LevelId,
        backend: Arc<dyn LeaseBackend>,
        alerts: Arc<dyn AlertSink>,
    ) -> Self {
        let unseen = |_| WindowState {
            number: i64::MIN,
            account: None,
            announced: None,
        };
        Self {
            level,
            backend,
            alerts,
            windows: [(); 4].map(unseen),
            retired: Vec::new(),
        }
    }

    /// Reserves an amount in every window of the budget, or in none. Appends to `held`.
    pub(super) fn hold(
        &mut self,
        policy: &LimitPolicy,
        now: Moment,
        amount: Option<Nanodollars>,
        held: &mut Vec<HeldMoney>,
        over: &mut Vec<(LevelId, BudgetWindow)>,
    ) -> Result<(), NotHeld> {
        if policy.budget.is_empty() {
            return Ok(());
        }
        let Some(amount) = amount else {
            return match policy.unpriced {
                UnpricedPolicy::Allow => Ok(()),
                UnpricedPolicy::Refuse => Err(self.refuse(RefusedBy::Unpriced, None)),
            };
        };
        for window in BudgetWindow::ALL {
            let Some(account) = self.account(policy, now, window) else {
                continue;
            };
            match account.hold(now.monotonic, amount) {
                Hold::Held => {
                    if !account.terms.strict && account.is_over() {
                        over.push((self.level.clone(), window));
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
                        when_exhausted: policy.when_exhausted.clone(),
                    };
                    return Err(self.refuse(limit, None));
                }
                Hold::Unreachable { retry_after } => {
                    let limit = RefusedBy::Unreachable(window);
                    return Err(self.refuse(limit, Some(retry_after)));
                }
            }
        }
        Ok(())
    }

    fn refuse(&self, limit: RefusedBy, retry_after: Option<Duration>) -> NotHeld {
        NotHeld::Refused(Refusal {
            level: self.level.clone(),
            limit,
            retry_after,
        })
    }

    /// The account of the current window, which is new if the window or the limit changed.
    fn account(
        &mut self,
        policy: &LimitPolicy,
        now: Moment,
        window: BudgetWindow,
    ) -> Option<Arc<Account>> {
        let state = &mut self.windows[window as usize];
        let Some(limit) = policy.budget.of(window) else {
            let old = state.account.take();
            self.retire_one(old);
            return None;
        };
        state.number = state.number.max(window.number(now.day));
        let number = state.number;
        let strict = policy.when_exhausted != WhenExhausted::Warn;
        if let Some(account) = &state.account {
            let terms = &account.terms;
            if terms.number == number && terms.limit == limit && terms.strict == strict {
                return Some(Arc::clone(account));
            }
        }
        let terms = AccountTerms {
            level: self.level.clone(),
            window,
            number,
            limit,
            strict,
        };
        let same = |announced: &Announced| announced.number == number && announced.limit == limit;
        let steps = state.announced.take().filter(same);
        let steps = steps.map(|announced| announced.steps).unwrap_or_default();
        let (backend, alerts) = (Arc::clone(&self.backend), Arc::clone(&self.alerts));
        let account = Account::new(terms, steps, backend, alerts);
        let old = state.account.replace(Arc::clone(&account));
        self.retire_one(old);
        Some(account)
    }

    /// The settled and reserved amounts of every budget.
    pub(super) fn usage(&mut self, policy: &LimitPolicy, now: Moment) -> Vec<BudgetUsage> {
        let usage = BudgetWindow::ALL.into_iter().filter_map(|window| {
            let account = self.account(policy, now, window)?;
            let (settled, reserved) = account.usage();
            Some(BudgetUsage {
                level: self.level.clone(),
                window,
                limit: account.terms.limit,
                settled,
                reserved,
                reset_day: window.end_day(account.terms.number),
            })
        });
        usage.collect()
    }

    /// Queries the backend about budgets whose state is unknown.
    pub(super) fn look(&mut self, policy: &LimitPolicy, now: Moment) -> Vec<(Arc<Account>, u64)> {
        let windows = BudgetWindow::ALL.into_iter();
        let asked = windows.filter_map(|window| {
            let account = self.account(policy, now, window)?;
            let replies = account.look(now.monotonic)?;
            Some((account, replies))
        });
        asked.collect()
    }

    /// The live reservations: their number and their sum over all windows.
    pub(super) fn open(&self) -> (u64, Nanodollars) {
        let current = self
            .windows
            .iter()
            .filter_map(|state| state.account.as_ref());
        let all = current.chain(&self.retired);
        all.fold((0, Nanodollars::ZERO), |(count, sum), account| {
            let (more, amount) = account.open();
            (count + more, sum.plus(amount))
        })
    }

    /// Returns leases that were not used since then. The result is whether no state remains.
    pub(super) fn sweep(&mut self, now: Duration, since: Duration) -> bool {
        for at in 0..self.windows.len() {
            let state = &mut self.windows[at];
            let idle = state
                .account
                .take_if(|account| account.is_idle_since(since));
            if let Some(account) = &idle {
                state.announced = Some(Announced {
                    number: account.terms.number,
                    limit: account.terms.limit,
                    steps: account.alerted(),
                    at: now,
                });
            }
            state.announced.take_if(|announced| {
                !announced.steps.any() || now.saturating_sub(announced.at) > REMEMBERED
            });
            self.retire_one(idle);
        }
        let empty = |state: &WindowState| state.account.is_none() && state.announced.is_none();
        self.retired.is_empty() && self.windows.iter().all(empty)
    }

    /// Returns all leases; those in use follow when their reservations end.
    pub(super) fn retire(&mut self) {
        for at in 0..self.windows.len() {
            let account = self.windows[at].account.take();
            self.retire_one(account);
        }
    }

    /// Retires an account, and remembers it until its reservations are settled.
    fn retire_one(&mut self, account: Option<Arc<Account>>) {
        self.retired.retain(|account| account.open().0 > 0);
        if let Some(account) = account {
            account.retire();
            if account.open().0 > 0 {
                self.retired.push(account);
            }
        }
    }
}

/// A budget and its use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetUsage {
    /// The level whose budget it is.
    pub level: LevelId,
    /// The window.
    pub window: BudgetWindow,
    /// The budget.
    pub limit: Nanodollars,
    /// The settled amount known to this node.
    pub settled: Nanodollars,
    /// The amount that this node has reserved.
    pub reserved: Nanodollars,
    /// The first day of the next window.
    pub reset_day: Option<i64>,
}
