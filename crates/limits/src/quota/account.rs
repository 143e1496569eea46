//! One window of one budget, as this node spends it.
//!
//! Reservations are held against leases: open + spent ≤ leased, unless spending is only
//! counted. The usage of an attempt is settled against the oldest lease; a spent lease is
//! closed. The lock is held for a few instructions and never while the backend is called.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::account_state::{AccountState, Asked};
use super::alert::{AlertSink, AlertSteps, BudgetAlert};
use super::lease::{BudgetOpening, ClosedLease, LeaseAsk, LeaseBackend, LeaseGrant, LeaseReply};
use super::level_id::LevelId;
use crate::policy::{BudgetWindow, Nanodollars};

/// For this long after a store granted less than requested, no request exceeds what it had
/// left.
const DRY: Duration = Duration::from_millis(200);
/// For this long after a store could not be reached, it gets no further request.
const DOWN: Duration = Duration::from_secs(1);

/// The budget and window of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccountTerms {
    pub(crate) level: LevelId,
    pub(crate) window: BudgetWindow,
    /// The window's number.
    pub(crate) number: i64,
    pub(crate) limit: Nanodollars,
    /// Whether spending stops at the limit; otherwise it is only counted.
    pub(crate) strict: bool,
}

pub(crate) struct Account {
    pub(crate) terms: AccountTerms,
    budget: Arc<str>,
    backend: Arc<dyn LeaseBackend>,
    alerts: Arc<dyn AlertSink>,
    state: Mutex<AccountState>,
    replied: Notify,
}

/// Money reserved from one account.
pub(crate) struct HeldMoney {
    pub(crate) account: Arc<Account>,
    pub(crate) amount: Nanodollars,
}

/// The outcome of a reservation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    Held,
    /// A lease was requested; try again after more replies than these.
    Waiting {
        replies: u64,
    },
    /// The budget does not cover it; that much could be reserved.
    Short {
        left: Nanodollars,
    },
    /// The store of the budget cannot be reached.
    Unreachable {
        retry_after: Duration,
    },
}

impl Account {
    pub(super) fn new(
        terms: AccountTerms,
        alerted: AlertSteps,
        backend: Arc<dyn LeaseBackend>,
        alerts: Arc<dyn AlertSink>,
    ) -> Arc<Self> {
        let budget = format!("{}/{}", terms.level.path(), terms.window.name());
        Arc::new(Self {
            terms,
            budget: budget.into(),
            backend,
            alerts,
            state: Mutex::new(AccountState {
                alerted,
                ..AccountState::default()
            }),
            replied: Notify::new(),
        })
    }

    /// Waits until the backend has replied more than this many times.
    pub(crate) async fn replied_after(&self, replies: u64) {
        loop {
            let next = self.replied.notified();
            if self.lock().replies > replies {
                return;
            }
            next.await;
        }
    }

    /// Reserves an amount.
    pub(crate) fn hold(self: &Arc<Self>, now: Duration, amount: Nanodollars) -> Hold {
        let mut state = self.lock();
        state.last_used = now;
        // Nothing fits a budget of zero, whatever its store contains.
        let none = self.terms.strict && self.terms.limit == Nanodollars::ZERO;
        if state.available() < amount && !none {
            self.ask(state, now, amount);
            state = self.lock();
        }
        if self.terms.strict && state.available() < amount {
            return self.cannot_hold(&mut state, now, amount);
        }
        state.demand.held(now, amount);
        state.open = state.open.plus(amount);
        state.reservations += 1;
        if state.is_low() {
            self.ask(state, now, Nanodollars::ZERO);
        }
        Hold::Held
    }

    fn cannot_hold(&self, state: &mut AccountState, now: Duration, amount: Nanodollars) -> Hold {
        if state.asked.is_some() {
            state.demand.waits(amount);
            let replies = state.replies;
            return Hold::Waiting { replies };
        }
        if let Some(until) = state.down_until {
            let retry_after = until.saturating_sub(now);
            return Hold::Unreachable { retry_after };
        }
        if state.alerted.reach(100) {
            self.alert(100, state.settled());
        }
        let used = state.settled().plus(state.open);
        let left = self.terms.limit.minus(used);
        Hold::Short { left }
    }

    /// Asks the backend how much is taken, unless that is known. Returns the number of its
    /// replies so far.
    pub(super) fn look(self: &Arc<Self>, now: Duration) -> Option<u64> {
        let state = self.lock();
        if state.known {
            return None;
        }
        let replies = state.replies;
        if state.may_ask(now) {
            self.send(state, now, Nanodollars::ZERO, Nanodollars::ZERO);
        }
        Some(replies)
    }

    /// Requests a lease that makes an amount available, or the next slice if the amount is
    /// zero; does nothing if the request is known to fail.
    fn ask(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, AccountState>,
        now: Duration,
        amount: Nanodollars,
    ) {
        if !state.may_ask(now) {
            return;
        }
        // Exceeds the amount if spending exceeds the leases, because estimates can be too low.
        let missing = amount.plus(state.open).plus(state.spent);
        let missing = missing.minus(state.leased);
        let least = match amount {
            Nanodollars::ZERO => Nanodollars(1),
            _ => missing,
        };
        let remaining = self.ceiling().minus(state.elsewhere.plus(state.leased));
        if now < state.dry_until && remaining < least {
            return;
        }
        let share = Nanodollars(remaining.0 / (2 * self.backend.nodes().max(1)));
        let slice = state.demand.take().min(share);
        let amount = missing.max(slice).max(least);
        self.send(state, now, amount, least);
    }

    /// The maximum that all nodes together may lease.
    fn ceiling(&self) -> Nanodollars {
        match self.terms.strict {
            true => self.terms.limit,
            false => Nanodollars::MAX,
        }
    }

    fn send(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, AccountState>,
        now: Duration,
        amount: Nanodollars,
        least: Nanodollars,
    ) {
        state.asked = Some(Asked {
            at: now,
            amount,
            leased: state.leased,
            closed: Nanodollars::ZERO,
        });
        let opening = (!state.known).then(|| BudgetOpening {
            level: self.terms.level.clone(),
            since_day: self.terms.window.start_day(self.terms.number),
        });
        drop(state);
        let ask = LeaseAsk {
            budget: Arc::clone(&self.budget),
            window: self.terms.number,
            limit: self.ceiling(),
            amount,
            least,
            opening,
        };
        self.backend.grant(ask, LeaseReply::to(Arc::clone(self)));
    }

    /// Receives the backend's reply; `None` if it could not be reached.
    pub(crate) fn granted(&self, grant: Option<LeaseGrant>) {
        let mut state = self.lock();
        let Some(asked) = state.asked.take() else {
            return;
        };
        state.replies += 1;
        state.down_until = None;
        match grant {
            None => state.down_until = Some(asked.at + DOWN),
            Some(grant) => {
                state.known = true;
                let others = grant.taken.minus(asked.leased);
                state.elsewhere = others.plus(asked.closed);
                if grant.amount > Nanodollars::ZERO {
                    state.leases.push_back((grant.id, grant.amount));
                    state.leased = state.leased.plus(grant.amount);
                }
                if grant.amount < asked.amount {
                    state.dry_until = asked.at + DRY;
                }
                // Steps that were passed before this node's first reply have already been
                // announced.
                let settled = state.settled();
                state.alerted.note_first(settled, self.terms.limit);
            }
        }
        self.close_and_unlock(state);
        self.replied.notify_waiters();
    }

    /// Ends a reservation with the used amount.
    pub(crate) fn settle(&self, held: Nanodollars, used: Nanodollars) {
        let mut state = self.lock();
        state.open = state.open.minus(held);
        state.reservations = state.reservations.saturating_sub(1);
        state.spent = state.spent.plus(used);
        let settled = state.settled();
        let reached = state.alerted.passed(settled, self.terms.limit);
        self.close_and_unlock(state);
        for percent in reached.into_iter().flatten() {
            self.alert(percent, settled);
        }
    }

    /// Stops spending: the remainder is returned when the last reservation ends.
    pub(crate) fn retire(&self) {
        let mut state = self.lock();
        state.retired = true;
        self.close_and_unlock(state);
    }

    /// Closes spent leases, or all leases of a retired account.
    fn close_and_unlock(&self, mut state: MutexGuard<'_, AccountState>) {
        let mut closed: Vec<(i64, Nanodollars, Nanodollars)> = Vec::new();
        let all = state.retired && state.reservations == 0 && state.asked.is_none();
        while let Some((id, amount)) = state.leases.front().copied() {
            // While a reservation is open, the last lease absorbs amounts that settle above
            // it.
            let kept = state.leases.len() == 1 && state.reservations > 0;
            if !all && (state.spent < amount || kept) {
                break;
            }
            state.leases.pop_front();
            state.leased = state.leased.minus(amount);
            let last = state.leases.is_empty();
            // An estimate that was too low is settled with the last lease.
            let spent = if last {
                state.spent
            } else {
                state.spent.min(amount)
            };
            state.spent = state.spent.minus(spent);
            state.elsewhere = state.elsewhere.plus(spent);
            if let Some(asked) = &mut state.asked {
                asked.closed = asked.closed.plus(spent);
            }
            closed.push((id, amount, spent));
        }
        drop(state);
        for (id, amount, spent) in closed {
            self.backend.close(ClosedLease {
                id,
                budget: Arc::clone(&self.budget),
                window: self.terms.number,
                amount,
                spent,
            });
        }
    }

    fn alert(&self, percent: u8, settled: Nanodollars) {
        self.alerts.alert(BudgetAlert {
            level: self.terms.level.clone(),
            window: self.terms.window,
            number: self.terms.number,
            limit: self.terms.limit,
            settled,
            percent,
        });
    }

    /// The settled and reserved amounts known to this node.
    pub(crate) fn usage(&self) -> (Nanodollars, Nanodollars) {
        let state = self.lock();
        (state.settled(), state.open)
    }

    /// Whether this node knows that the limit is exceeded.
    pub(crate) fn is_over(&self) -> bool {
        let (settled, open) = self.usage();
        settled.plus(open) > self.terms.limit
    }

    /// The live reservations: their number and their sum.
    pub(crate) fn open(&self) -> (u64, Nanodollars) {
        let state = self.lock();
        (state.reservations, state.open)
    }

    /// The announced steps.
    pub(super) fn alerted(&self) -> AlertSteps {
        self.lock().alerted
    }

    /// Whether nothing happened since.
    pub(crate) fn is_idle_since(&self, since: Duration) -> bool {
        let state = self.lock();
        state.reservations == 0 && state.asked.is_none() && state.last_used <= since
    }

    fn lock(&self) -> MutexGuard<'_, AccountState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
