//! A rate that several nodes share.
//!
//! Charges are paid from units that this node holds. Every charge also fills the bucket of
//! this node's share, which decides while the store is unavailable, so an outage begins
//! without a second burst. Charges during the outage are reported when the store is back.
//!
//! A node that holds nothing admits one charge on credit if usage was far below the limit at
//! the last exchange and the credit of all nodes is at most a quarter of the burst. So
//! requests of a key that is rarely used here do not wait for the store.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::demand::Demand;
use super::exchange::Exchange;
use super::gcra::{Gcra, RateCharge, RateSpec, RateState};
use super::traffic::{StoreView, TrafficAsk, TrafficGrant};
use crate::policy::Nanodollars;

/// How often held units are renewed.
const RENEW: Duration = Duration::from_millis(1_500);
/// Changes of the period that are remembered.
const PERIODS: usize = 16;

pub(super) struct SharedRate {
    name: Arc<str>,
    spec: RateSpec,
    share: Gcra,
    nodes: u64,
    exchange: Exchange,
    /// Units that are used and not yet reported.
    spent: u64,
    /// The part of it that the exchange in flight reports.
    reporting: u64,
    refund: u64,
    /// The number of exchanges so far; the next one reports current charges.
    number: u64,
    /// The store's period from an exchange on.
    periods: VecDeque<(u64, u64)>,
    demand: Demand,
    last_cost: u64,
    last_grant: u64,
    /// The amount that the store lacked, and until when no request is as large.
    dry: Option<(u64, Duration)>,
    free: u64,
    /// Whether a charge was made on credit since the last reply.
    on_credit: bool,
}

/// Why a charge is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Uncharged {
    /// Try again after more replies than these.
    Waiting { replies: u64 },
    /// The same charge fits after this time.
    Refused(Duration),
}

impl SharedRate {
    pub(super) fn new(name: Arc<str>, spec: RateSpec) -> Self {
        Self {
            name,
            spec,
            share: Gcra::new(spec),
            nodes: 1,
            exchange: Exchange::default(),
            spent: 0,
            reporting: 0,
            refund: 0,
            number: 0,
            periods: VecDeque::new(),
            demand: Demand::default(),
            last_cost: 0,
            last_grant: 0,
            dry: None,
            // Nothing is known yet.
            free: 0,
            on_credit: false,
        }
    }

    pub(super) fn spec(&self) -> RateSpec {
        self.spec
    }

    pub(super) fn reconfigure(&mut self, spec: RateSpec) {
        self.spec = spec;
        self.share.reconfigure(spec.share(self.nodes));
    }

    /// Charges, and returns a necessary exchange with the store.
    pub(super) fn charge(
        &mut self,
        now: Duration,
        cost: u64,
        store: StoreView,
    ) -> (Result<RateCharge, Uncharged>, Option<TrafficAsk>) {
        self.note(store);
        self.exchange.used(now);
        if self.exchange.is_alone(now, store) {
            self.leave(now);
            let charged = self.share.charge(now, cost);
            return (charged.map_err(Uncharged::Refused), None);
        }
        self.rejoin(now);
        self.last_cost = cost;
        let held = self.exchange.held(now);
        let credit = held < cost && self.has_credit(cost);
        if held >= cost || credit {
            self.on_credit |= credit;
            let left = if credit { held } else { held - cost };
            self.exchange.set_held(left);
            self.spent += cost;
            self.share.force(now, cost);
            self.demand.held(now, Nanodollars(cost));
            let low = left.saturating_mul(2) < self.last_grant || credit;
            let ask = (low && self.exchange.asked.is_none()).then(|| self.ask(now, 0));
            return (Ok(RateCharge::shared(self.spec, cost, self.number)), ask);
        }
        let replies = self.exchange.replies;
        let waiting = Err(Uncharged::Waiting { replies });
        if self.exchange.asked.is_some() {
            self.demand.waits(Nanodollars(cost));
            return (waiting, None);
        }
        match self.dry {
            Some((least, until)) if now < until && cost >= least => {
                (Err(Uncharged::Refused(until - now)), None)
            }
            _ => (waiting, Some(self.ask(now, cost))),
        }
    }

    fn has_credit(&self, cost: u64) -> bool {
        let all_nodes = cost.saturating_mul(4 * self.nodes);
        let is_far = self.free >= self.spec.burst().div_ceil(2);
        !self.on_credit && is_far && all_nodes <= self.spec.burst()
    }

    /// The next exchange, if it is due.
    pub(super) fn tick(&mut self, now: Duration, store: StoreView) -> Option<TrafficAsk> {
        self.note(store);
        if self.exchange.is_alone(now, store) {
            self.leave(now);
            return None;
        }
        let idle = !self.exchange.is_known(now) && self.spent == 0 && self.refund == 0;
        let due = self.exchange.is_due(now, RENEW) && (!idle || self.exchange.alone);
        due.then(|| {
            self.rejoin(now);
            self.ask(now, 0)
        })
    }

    /// Returns everything, at the end of the process.
    pub(super) fn release(&mut self, now: Duration, store: StoreView) -> Option<TrafficAsk> {
        self.exchange.cool();
        let held = self.exchange.held(now) > 0 || self.spent > 0;
        let asks = held && self.exchange.asked.is_none() && !self.exchange.is_alone(now, store);
        asks.then(|| self.ask(now, 0))
    }

    fn ask(&mut self, now: Duration, least: u64) -> TrafficAsk {
        let slice = self.spec.burst() / (2 * self.nodes);
        let wanted = self.demand.take().0.max(self.last_cost);
        let want = match self.exchange.is_warm(now) {
            true => wanted.min(slice).max(least),
            false => least,
        };
        // Returned units must not be used before the reply.
        let claim = self.exchange.held(now).min(want);
        self.exchange.set_held(claim);
        self.exchange.began(now, least);
        self.number += 1;
        self.reporting = self.spent;
        let period = self.periods.back().map_or(0, |(_, period)| *period);
        TrafficAsk {
            limit: Arc::clone(&self.name),
            capacity: self.spec.burst(),
            per_minute: Some(self.spec.per_minute.get()),
            spent: self.spent,
            refund: std::mem::take(&mut self.refund),
            refund_period: period,
            in_use: 0,
            claim,
            want,
            least,
            share: 0,
        }
    }

    /// Receives the reply.
    pub(super) fn replied(&mut self, grant: Option<TrafficGrant>) {
        let Some((asked, grant)) = self.exchange.ended(grant) else {
            return;
        };
        self.spent -= self.reporting;
        self.reporting = 0;
        // Units used since the exchange began were taken from the held ones.
        self.exchange
            .set_held(grant.usable.saturating_sub(self.spent));
        self.last_grant = grant.usable;
        self.on_credit = false;
        self.free = grant.free;
        let lacks = grant.usable < asked.least;
        self.dry = lacks.then(|| (asked.least, asked.at + grant.wait));
        if self.periods.back().map(|(_, period)| *period) != Some(grant.period) {
            self.periods.push_back((self.number, grant.period));
            if self.periods.len() > PERIODS {
                self.periods.pop_front();
            }
        }
    }

    /// Corrects a charge to the used amount.
    pub(super) fn settle(&mut self, now: Duration, charge: RateCharge, used: u64) {
        let Some(number) = charge.exchange() else {
            self.share.settle(now, charge, used);
            return;
        };
        if used > charge.cost() {
            self.spent += used - charge.cost();
            self.share.force(now, used - charge.cost());
            return;
        }
        let unused = charge.cost() - used;
        self.share.refund(now, unused);
        if number == self.number && self.spent >= self.reporting + unused {
            self.spent -= unused;
            let held = self.exchange.held(now);
            if held > 0 {
                self.exchange.set_held(held + unused);
            }
            return;
        }
        // The charge is reported by the first exchange after it.
        let reported = self
            .periods
            .iter()
            .rev()
            .find(|(since, _)| *since <= number + 1);
        let current = self.periods.back().map(|(_, period)| *period);
        if reported.map(|(_, period)| *period) == current {
            self.refund += unused;
        }
    }

    pub(super) fn undo(&mut self, now: Duration, charge: RateCharge) {
        match charge.exchange() {
            None => self.share.undo(charge),
            Some(_) => self.settle(now, charge, 0),
        }
    }

    pub(super) fn expire(&mut self, now: Duration) {
        self.exchange.expire(now);
    }

    pub(super) fn replies(&self) -> u64 {
        self.exchange.replies
    }

    /// For headers: as of the last exchange.
    pub(super) fn state(&self, now: Duration) -> RateState {
        if self.exchange.alone {
            return self.share.state(now);
        }
        let remaining = self.free + self.exchange.held(now);
        let missing = self.spec.burst().saturating_sub(remaining);
        RateState {
            limit: self.spec.per_minute.get(),
            remaining: remaining.min(self.spec.burst()),
            reset: self.spec.time_of(missing),
        }
    }

    /// Whether there are no held units, unreported charges or debt.
    pub(super) fn is_idle(&self, now: Duration) -> bool {
        self.exchange.held(now) == 0 && self.spent == 0 && self.share.is_full(now)
    }

    fn note(&mut self, store: StoreView) {
        if store.nodes != self.nodes {
            self.nodes = store.nodes;
            self.share.reconfigure(self.spec.share(store.nodes));
        }
    }

    /// The share takes over. Held units expire in the store.
    fn leave(&mut self, now: Duration) {
        if !std::mem::replace(&mut self.exchange.alone, true) {
            self.share.cap(now);
            self.exchange.forget();
            self.dry = None;
        }
    }

    /// The store is back: the contents of the share's bucket are reported as used.
    fn rejoin(&mut self, now: Duration) {
        if std::mem::replace(&mut self.exchange.alone, false) {
            self.spent = self.spent.max(self.share.level(now));
        }
    }
}
