//! Seats that several nodes share.
//!
//! A local semaphore has as many units as this node holds seats. Requests in the queue are
//! demand; seats beyond what is in use are given back when other nodes wait for them.
//!
//! A node that loses the store goes on with what it holds while its lease lasts, then with
//! the part of it that is within its share. The share itself is its own only when no other
//! node uses what was leased to it: a store that this node alone has lost keeps that much
//! back from the end of the lease on.

use std::sync::Arc;
use std::time::Duration;

use super::exchange::Exchange;
use super::traffic::{StoreView, TrafficAsk, TrafficGrant};
use crate::bounds::Bounds;
use crate::semaphore::FairSemaphore;

/// How often held seats are renewed.
const RENEW: Duration = Duration::from_secs(1);
/// The same, while nodes compete for seats.
const CONTENDED: Duration = Duration::from_millis(100);
/// A store that was away this long has ended this node's lease, informed every other node of what
/// it keeps back, and seen the leases of before end: twice the length of a lease.
const SETTLED: Duration = Duration::from_secs(8);

pub(super) struct SharedSeats {
    name: Arc<str>,
    pub(super) seats: FairSemaphore,
    capacity: u64,
    exchange: Exchange,
    contended: bool,
}

impl SharedSeats {
    pub(super) fn new(name: Arc<str>, capacity: u64, waiters: usize) -> Self {
        let bounds = Bounds::new(capacity).waiters(waiters);
        let seats = FairSemaphore::new(bounds);
        seats.accept_up_to(capacity);
        seats.resize(0);
        Self {
            name,
            seats,
            capacity,
            exchange: Exchange::default(),
            contended: false,
        }
    }

    pub(super) fn resize(&mut self, capacity: u64) {
        self.capacity = capacity;
        self.seats.accept_up_to(capacity);
    }

    /// A request wants a seat. Returns a necessary exchange with the store.
    pub(super) fn wanted(&mut self, now: Duration, store: StoreView) -> Option<TrafficAsk> {
        self.exchange.used(now);
        if self.exchange.is_alone(now, store) {
            self.leave(now, store);
            return None;
        }
        let returns = self.exchange.alone;
        self.rejoin(now);
        self.lapse(now);
        let missing = self.seats.available() == 0 || returns;
        // While it is contended, the answer is known until the next exchange.
        let settled = self.contended && !self.exchange.is_due(now, CONTENDED);
        let ask = missing && self.exchange.asked.is_none() && !settled;
        ask.then(|| self.ask(now, store, 1))
    }

    /// The next exchange, if it is due.
    pub(super) fn tick(&mut self, now: Duration, store: StoreView) -> Option<TrafficAsk> {
        if self.exchange.is_alone(now, store) {
            self.leave(now, store);
            return None;
        }
        self.lapse(now);
        let waiting = self.seats.waiting() as u64;
        let idle = !self.exchange.is_known(now) && waiting == 0 && self.seats.in_use() == 0;
        if idle && !self.exchange.alone {
            return None;
        }
        let often = self.contended || waiting > 0;
        let interval = if often { CONTENDED } else { RENEW };
        self.exchange.is_due(now, interval).then(|| {
            self.rejoin(now);
            self.ask(now, store, 0)
        })
    }

    /// Returns all unused seats, at the end of the process.
    pub(super) fn release(&mut self, now: Duration, store: StoreView) -> Option<TrafficAsk> {
        self.exchange.cool();
        let held = self.exchange.held(now) > 0;
        let asks = held && self.exchange.asked.is_none() && !self.exchange.is_alone(now, store);
        asks.then(|| self.ask(now, store, 0))
    }

    fn ask(&mut self, now: Duration, store: StoreView, more: u64) -> TrafficAsk {
        let in_use = self.seats.in_use();
        let waiting = self.seats.waiting() as u64;
        let spare = self.capacity / (4 * store.nodes);
        let busy = in_use + waiting.max(more);
        // Seats that other nodes wait for are not kept in reserve.
        let want = match self.contended || !self.exchange.is_warm(now) {
            true => busy,
            false => (busy + spare).max(1),
        };
        let want = want.min(self.capacity.max(in_use));
        let held = self.exchange.held(now);
        if want < held {
            self.exchange.set_held(want);
            self.seats.resize(want);
        }
        self.exchange.began(now, busy);
        TrafficAsk {
            limit: Arc::clone(&self.name),
            capacity: self.capacity,
            per_minute: None,
            spent: 0,
            refund: 0,
            refund_period: 0,
            in_use: self.seats.in_use(),
            claim: self.exchange.held(now),
            want,
            least: busy.min(self.capacity),
            share: self.share(store),
        }
    }

    /// Receives the reply.
    pub(super) fn replied(&mut self, grant: Option<TrafficGrant>) {
        if let Some((_, grant)) = self.exchange.ended(grant) {
            self.contended = grant.contended;
            self.seats.resize(grant.usable);
        }
    }

    pub(super) fn expire(&mut self, now: Duration, store: StoreView) {
        self.exchange.expire(now);
        if self.exchange.is_alone(now, store) {
            self.leave(now, store);
        }
    }

    pub(super) fn replies(&self) -> u64 {
        self.exchange.replies
    }

    /// Whether a reply may bring seats.
    pub(super) fn is_asking(&self) -> bool {
        self.exchange.asked.is_some()
    }

    pub(super) fn is_idle(&self, now: Duration) -> bool {
        self.exchange.held(now) == 0 && self.seats.in_use() == 0
    }

    /// Seats that were not renewed belong to other nodes.
    fn lapse(&mut self, now: Duration) {
        let over = !self.exchange.alone && self.exchange.held(now) == 0;
        if over && self.seats.total() > 0 {
            self.seats.resize(0);
        }
    }

    /// The node decides alone; seats in use stay in use.
    fn leave(&mut self, now: Duration, store: StoreView) {
        self.exchange.alone = true;
        self.contended = false;
        let share = self.share(store);
        let total = match self.exchange.lasts(now) {
            true => self.exchange.held(now),
            false if store.away_for >= SETTLED => share,
            false => self.exchange.last_held().min(share),
        };
        if self.seats.total() != total {
            self.seats.resize(total);
        }
    }

    fn share(&self, store: StoreView) -> u64 {
        (self.capacity / store.nodes).max(1)
    }

    /// The store is back: until its first reply the node uses what it used without it.
    fn rejoin(&mut self, now: Duration) {
        if std::mem::replace(&mut self.exchange.alone, false) {
            self.exchange.hold(self.seats.total(), now);
        }
    }
}
