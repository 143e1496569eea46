//! The levels of one caller, from everyone to the end user.

use std::sync::Arc;
use std::time::Duration;

use super::account::Account;
use super::accounts::{BudgetUsage, NotHeld};
use super::gcra::{RateCharge, RateState};
use super::level::Level;
use super::level_id::{LevelId, LevelKind};
use super::level_traffic::NotCharged;
use super::moment::Moment;
use super::refusal::{Refusal, RefusedBy};
use super::reservation::Reservation;
use super::traffic::TrafficKind;
use crate::flow::Flow;
use crate::policy::{Nanodollars, UnpricedPolicy, WhenExhausted};
use crate::semaphore::FairSemaphore;

/// The levels that apply to a caller, outermost first.
#[derive(Clone)]
pub struct LimitStack {
    levels: Arc<[Arc<Level>]>,
    /// The flow of the caller, among callers that share the gateway or a team.
    tenant: Flow,
    /// The flow of the end user, among users that share a key.
    user: Option<Flow>,
    /// The budgets may refuse.
    strict: bool,
    money: bool,
    tokens: bool,
}

/// The maximum usage of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservationAsk {
    /// Input and output tokens.
    pub tokens: u64,
    /// Their cost; `None` if the price is unknown.
    pub cost: Option<Nanodollars>,
}

/// The outcome of a reservation.
pub enum ReserveOutcome {
    /// It is reserved at every level.
    Held(Reservation),
    /// A lease has been requested; try again after the wait.
    Waiting(LeaseWait),
    /// A level refused, and every level is as it was.
    Refused(Refusal),
}

/// The outcome of a charge.
pub enum ChargeOutcome {
    /// It is made at every level.
    Charged(RequestCharge),
    /// A store has been asked; charge again after the wait.
    Waiting(LeaseWait),
    /// A level refused, and every level is as it was.
    Refused(Refusal),
}

/// A wait for the reply of a store.
pub struct LeaseWait(WaitedFor);

enum WaitedFor {
    Money(Arc<Account>, u64),
    Traffic(Arc<Level>, TrafficKind, u64),
}

impl LeaseWait {
    fn money(account: Arc<Account>, replies: u64) -> Self {
        Self(WaitedFor::Money(account, replies))
    }

    /// Ends with the store's reply. The caller applies a timeout.
    pub async fn replied(&self) {
        match &self.0 {
            WaitedFor::Money(account, replies) => account.replied_after(*replies).await,
            WaitedFor::Traffic(level, kind, replies) => {
                level.replied_after(*kind, *replies).await;
            }
        }
    }

    /// The reply did not come in time. Returns whether the node's share now applies, so that
    /// the caller can try once more.
    pub fn expire(&self, now: Duration) -> bool {
        match &self.0 {
            WaitedFor::Money(..) => false,
            WaitedFor::Traffic(level, kind, _) => {
                level.expire(*kind, now);
                true
            }
        }
    }

    /// The refusal if the reply does not come.
    pub fn refusal(&self) -> Refusal {
        let (level, limit) = match &self.0 {
            WaitedFor::Money(account, _) => {
                let window = account.terms.window;
                (account.terms.level.clone(), RefusedBy::Unreachable(window))
            }
            WaitedFor::Traffic(level, kind, _) => (level.id().clone(), level.refused_by(*kind)),
        };
        Refusal {
            level,
            limit,
            retry_after: Some(Duration::from_secs(1)),
        }
    }
}

/// The request charges of all levels. Dropping it keeps them.
#[derive(Default)]
pub struct RequestCharge(Vec<(Arc<Level>, RateCharge)>);

impl RequestCharge {
    /// Reverts the charges, because the request was refused elsewhere.
    pub fn undo(self, now: Duration) {
        for (level, charge) in self.0.into_iter().rev() {
            level.undo_request(now, charge);
        }
    }
}

/// The seats of one level.
pub struct SeatQueue {
    /// The level.
    pub level: LevelId,
    /// Its seats.
    pub seats: FairSemaphore,
    /// The flow of this caller, among callers that share the level.
    pub flow: Flow,
    /// The longest wait.
    pub queue: Duration,
    /// The number of seats.
    pub concurrent: u64,
    /// A store has been asked for seats, so waiting is worthwhile even if no request may
    /// queue.
    pub asking: Option<LeaseWait>,
}

impl SeatQueue {
    /// The refusal of a request whose wait failed.
    pub fn refusal(&self) -> Refusal {
        Refusal {
            level: self.level.clone(),
            limit: RefusedBy::Concurrent(self.concurrent),
            retry_after: Some(Duration::from_secs(1)),
        }
    }
}

impl LimitStack {
    /// The levels of a caller, outermost first.
    pub(super) fn new(levels: Vec<Arc<Level>>, tenant: Flow, user: Option<Flow>) -> Self {
        let policies: Vec<_> = levels.iter().map(|level| level.policy()).collect();
        let budgeted = || policies.iter().filter(|policy| !policy.budget.is_empty());
        Self {
            strict: budgeted().any(|policy| policy.when_exhausted != WhenExhausted::Warn),
            money: budgeted().next().is_some(),
            tokens: policies
                .iter()
                .any(|policy| policy.traffic.tokens_per_minute.is_some()),
            levels: levels.into(),
            tenant,
            user,
        }
    }

    /// Whether no limit applies.
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Whether a budget of money applies.
    pub fn has_budget(&self) -> bool {
        self.money
    }

    /// Whether a budget applies that refuses.
    pub fn has_strict_budget(&self) -> bool {
        self.strict
    }

    /// Whether attempts have to be reserved.
    pub fn needs_reservation(&self) -> bool {
        self.money || self.tokens
    }

    /// Whether a price must be known.
    pub fn needs_price(&self) -> bool {
        let refuses = |level: &Arc<Level>| {
            let policy = level.policy();
            !policy.budget.is_empty() && policy.unpriced == UnpricedPolicy::Refuse
        };
        self.levels.iter().any(refuses)
    }

    /// Specs that budgets name for requests that they do not cover, innermost first.
    pub fn cheaper_spec(&self) -> Option<Arc<str>> {
        self.levels.iter().rev().find_map(|level| {
            let policy = level.policy();
            match &policy.when_exhausted {
                WhenExhausted::Spec(spec) if !policy.budget.is_empty() => Some(Arc::clone(spec)),
                _ => None,
            }
        })
    }

    /// Charges one request at every level, or at none.
    pub fn charge_request(&self, now: Moment) -> ChargeOutcome {
        let mut charged = RequestCharge::default();
        for level in self.levels.iter() {
            match level.charge_request(now) {
                Ok(None) => {}
                Ok(Some(charge)) => charged.0.push((Arc::clone(level), charge)),
                Err(not) => {
                    charged.undo(now.monotonic);
                    return match not {
                        NotCharged::Refused(refusal) => ChargeOutcome::Refused(refusal),
                        NotCharged::Waiting { kind, replies } => {
                            ChargeOutcome::Waiting(traffic_wait(level, kind, replies))
                        }
                    };
                }
            }
        }
        ChargeOutcome::Charged(charged)
    }

    /// The seats to take, innermost first: a request that waits for its own key's seat must
    /// not hold a seat that others could use.
    ///
    /// The gateway's and a team's seats are shared between keys, a key's between its end
    /// users, whether or not these have limits of their own.
    pub fn seats(&self, now: Duration) -> impl Iterator<Item = SeatQueue> {
        self.levels.iter().rev().filter_map(move |level| {
            let of_level = level.seats(now)?;
            let flow = match level.id().kind {
                LevelKind::Key => self.user.unwrap_or(self.tenant),
                LevelKind::Global | LevelKind::Team | LevelKind::EndUser => self.tenant,
            };
            Some(SeatQueue {
                level: level.id().clone(),
                seats: of_level.seats,
                flow,
                queue: of_level.queue,
                concurrent: of_level.concurrent,
                asking: of_level
                    .asking
                    .map(|replies| traffic_wait(level, TrafficKind::Seats, replies)),
            })
        })
    }

    /// Reserves an attempt's maximum usage, at every level or at none.
    pub fn reserve(&self, now: Moment, ask: ReservationAsk) -> ReserveOutcome {
        let mut reservation = Reservation::at(now.monotonic);
        for level in self.levels.iter() {
            match level.charge_tokens(now, ask.tokens) {
                Ok(None) => {}
                Ok(Some(charge)) => reservation.tokens.push((Arc::clone(level), charge)),
                // Dropping the reservation rolls it back.
                Err(NotCharged::Refused(refusal)) => return ReserveOutcome::Refused(refusal),
                Err(NotCharged::Waiting { kind, replies }) => {
                    return ReserveOutcome::Waiting(traffic_wait(level, kind, replies));
                }
            }
            let Reservation { money, over, .. } = &mut reservation;
            match level.hold(now, ask.cost, money, over) {
                Ok(()) => {}
                Err(NotHeld::Refused(refusal)) => return ReserveOutcome::Refused(refusal),
                Err(NotHeld::Waiting { account, replies }) => {
                    return ReserveOutcome::Waiting(LeaseWait::money(account, replies));
                }
            }
        }
        ReserveOutcome::Held(reservation)
    }

    /// The tightest request and token rates.
    pub fn rates(&self, now: Duration) -> [Option<RateState>; 2] {
        let mut tightest = [None::<RateState>; 2];
        for level in self.levels.iter() {
            for (best, state) in tightest.iter_mut().zip(level.rates(now)) {
                let Some(state) = state else { continue };
                if best.is_none_or(|best| state.remaining < best.remaining) {
                    *best = Some(state);
                }
            }
        }
        tightest
    }

    /// Queries budgets whose state is unknown to this node. After the waits,
    /// [`budgets`](Self::budgets) includes the usage of other nodes and earlier processes.
    pub fn look(&self, now: Moment) -> Vec<LeaseWait> {
        let asked = self.levels.iter().flat_map(|level| level.look(now));
        let waits = asked.map(|(account, replies)| LeaseWait::money(account, replies));
        waits.collect()
    }

    /// The budgets of all levels.
    pub fn budgets(&self, now: Moment) -> Vec<BudgetUsage> {
        let levels = self.levels.iter();
        levels.flat_map(|level| level.budgets(now)).collect()
    }

    /// The levels.
    pub fn levels(&self) -> &[Arc<Level>] {
        &self.levels
    }
}

fn traffic_wait(level: &Arc<Level>, kind: TrafficKind, replies: u64) -> LeaseWait {
    LeaseWait(WaitedFor::Traffic(Arc::clone(level), kind, replies))
}
