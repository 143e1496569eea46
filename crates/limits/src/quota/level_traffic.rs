//! The rates and seats of a level, of this process or shared by nodes.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use super::gcra::{Gcra, RateCharge, RateSpec, RateState};
use super::level::{Level, LevelState};
use super::moment::Moment;
use super::refusal::{Refusal, RefusedBy};
use super::shared_rate::{SharedRate, Uncharged};
use super::shared_seats::SharedSeats;
use super::traffic::{StoreView, TrafficAsk, TrafficGrant, TrafficKind, TrafficReply};
use crate::bounds::Bounds;
use crate::policy::TrafficLimits;
use crate::semaphore::FairSemaphore;

/// Waiters for the seats of one level.
const WAITERS: usize = 4_096;

/// A rate.
pub(super) enum Bucket {
    Own(Gcra),
    Shared(Box<SharedRate>),
}

impl Bucket {
    fn spec(&self) -> RateSpec {
        match self {
            Self::Own(bucket) => bucket.spec(),
            Self::Shared(rate) => rate.spec(),
        }
    }

    pub(super) fn state(&self, now: Duration) -> RateState {
        match self {
            Self::Own(bucket) => bucket.state(now),
            Self::Shared(rate) => rate.state(now),
        }
    }

    /// Whether it can be forgotten without loss.
    pub(super) fn is_idle(&self, now: Duration) -> bool {
        match self {
            Self::Own(bucket) => bucket.is_full(now),
            Self::Shared(rate) => rate.is_idle(now),
        }
    }
}

/// Seats.
pub(super) enum Seats {
    Own(FairSemaphore),
    Shared(Box<SharedSeats>),
}

impl Seats {
    fn semaphore(&self) -> &FairSemaphore {
        match self {
            Self::Own(seats) => seats,
            Self::Shared(shared) => &shared.seats,
        }
    }

    pub(super) fn is_idle(&self, now: Duration) -> bool {
        match self {
            Self::Own(seats) => seats.in_use() == 0,
            Self::Shared(shared) => shared.is_idle(now),
        }
    }
}

/// Why a charge is not made.
pub(super) enum NotCharged {
    /// Try again after more replies than these.
    Waiting {
        kind: TrafficKind,
        replies: u64,
    },
    Refused(Refusal),
}

/// The seats of a level for one request.
pub(super) struct SeatsOfLevel {
    pub(super) seats: FairSemaphore,
    pub(super) queue: Duration,
    pub(super) concurrent: u64,
    /// A pending reply may bring seats; this many replies came before it.
    pub(super) asking: Option<u64>,
}

impl Level {
    /// Applies the limits of a policy.
    pub(super) fn set_traffic(
        &self,
        state: &mut LevelState,
        requests: Option<RateSpec>,
        tokens: Option<RateSpec>,
        concurrent: Option<NonZeroU64>,
    ) {
        self.set_rate(&mut state.requests, requests, TrafficKind::Requests);
        self.set_rate(&mut state.tokens, tokens, TrafficKind::Tokens);
        let units = concurrent.map(NonZeroU64::get);
        match (&mut state.seats, units) {
            (Some(Seats::Own(seats)), Some(units)) => seats.resize(units),
            (Some(Seats::Shared(shared)), Some(units)) => shared.resize(units),
            (_, None) => state.seats = None,
            (None, Some(units)) => {
                state.seats = Some(match &self.traffic {
                    None => Seats::Own(FairSemaphore::new(Bounds::new(units).waiters(WAITERS))),
                    Some(_) => {
                        let name = self.limit_name(TrafficKind::Seats);
                        Seats::Shared(Box::new(SharedSeats::new(name, units, WAITERS)))
                    }
                });
            }
        }
    }

    fn set_rate(&self, bucket: &mut Option<Bucket>, spec: Option<RateSpec>, kind: TrafficKind) {
        match (bucket.as_mut(), spec) {
            (Some(Bucket::Own(bucket)), Some(spec)) => bucket.reconfigure(spec),
            (Some(Bucket::Shared(rate)), Some(spec)) => rate.reconfigure(spec),
            (_, spec) => {
                *bucket = spec.map(|spec| match &self.traffic {
                    None => Bucket::Own(Gcra::new(spec)),
                    Some(_) => {
                        let rate = SharedRate::new(self.limit_name(kind), spec);
                        Bucket::Shared(Box::new(rate))
                    }
                });
            }
        }
    }

    fn limit_name(&self, kind: TrafficKind) -> Arc<str> {
        format!("{}/{}", self.id().path(), kind.name()).into()
    }

    fn store(&self) -> StoreView {
        let none = StoreView {
            up: false,
            nodes: 1,
            away_for: Duration::ZERO,
        };
        self.traffic.as_deref().map_or(none, StoreView::of)
    }

    /// Sends an exchange. The level must not be locked, because the reply may come at once.
    fn send(self: &Arc<Self>, kind: TrafficKind, ask: Option<TrafficAsk>) {
        if let (Some(ask), Some(backend)) = (ask, &self.traffic) {
            backend.exchange(ask, TrafficReply::to(Arc::clone(self), kind));
        }
    }

    /// Charges one request.
    pub(super) fn charge_request(
        self: &Arc<Self>,
        now: Moment,
    ) -> Result<Option<RateCharge>, NotCharged> {
        self.charge(TrafficKind::Requests, now, 1, RefusedBy::Requests)
    }

    /// Charges tokens.
    pub(super) fn charge_tokens(
        self: &Arc<Self>,
        now: Moment,
        tokens: u64,
    ) -> Result<Option<RateCharge>, NotCharged> {
        self.charge(TrafficKind::Tokens, now, tokens, RefusedBy::Tokens)
    }

    fn charge(
        self: &Arc<Self>,
        kind: TrafficKind,
        now: Moment,
        cost: u64,
        limit: fn(u64) -> RefusedBy,
    ) -> Result<Option<RateCharge>, NotCharged> {
        let now = now.monotonic;
        let mut state = self.lock();
        state.last_used = now;
        let Some(bucket) = state.bucket(kind) else {
            return Ok(None);
        };
        let per_minute = bucket.spec().per_minute.get();
        let charged = match bucket {
            Bucket::Own(bucket) => bucket.charge(now, cost).map_err(Uncharged::Refused),
            Bucket::Shared(rate) => {
                let (charged, ask) = rate.charge(now, cost, self.store());
                drop(state);
                self.send(kind, ask);
                charged
            }
        };
        charged.map(Some).map_err(|uncharged| match uncharged {
            Uncharged::Waiting { replies } => NotCharged::Waiting { kind, replies },
            Uncharged::Refused(wait) => NotCharged::Refused(Refusal {
                level: self.id().clone(),
                limit: limit(per_minute),
                retry_after: Some(wait),
            }),
        })
    }

    pub(super) fn undo_request(&self, now: Duration, charge: RateCharge) {
        self.undo(TrafficKind::Requests, now, charge);
    }

    pub(super) fn undo_tokens(&self, now: Duration, charge: RateCharge) {
        self.undo(TrafficKind::Tokens, now, charge);
    }

    fn undo(&self, kind: TrafficKind, now: Duration, charge: RateCharge) {
        match self.lock().bucket(kind) {
            None => {}
            Some(Bucket::Own(bucket)) => bucket.undo(charge),
            Some(Bucket::Shared(rate)) => rate.undo(now, charge),
        }
    }

    pub(super) fn settle_tokens(&self, now: Duration, charge: RateCharge, used: u64) {
        match &mut self.lock().tokens {
            None => {}
            Some(Bucket::Own(bucket)) => bucket.settle(now, charge, used),
            Some(Bucket::Shared(rate)) => rate.settle(now, charge, used),
        }
    }

    /// The seats for a request that arrives now.
    pub(super) fn seats(self: &Arc<Self>, now: Duration) -> Option<SeatsOfLevel> {
        let mut state = self.lock();
        let traffic = state.policy.traffic;
        let concurrent = traffic.concurrent?.get();
        let queue = traffic.queue.unwrap_or(TrafficLimits::DEFAULT_QUEUE);
        let mut ask = None;
        let seats = state.seats.as_mut()?;
        if let Seats::Shared(shared) = seats {
            ask = shared.wanted(now, self.store());
        }
        let asking = match seats {
            Seats::Shared(shared) if shared.is_asking() => Some(shared.replies()),
            _ => None,
        };
        let seats = seats.semaphore().clone();
        drop(state);
        self.send(TrafficKind::Seats, ask);
        Some(SeatsOfLevel {
            seats,
            queue,
            concurrent,
            asking,
        })
    }

    /// Renews held units, and returns unused ones.
    pub(super) fn exchange(self: &Arc<Self>, now: Duration) {
        self.each_shared(
            |rate, store| rate.tick(now, store),
            |seats, store| seats.tick(now, store),
        );
    }

    /// Gives everything back.
    pub(super) fn release(self: &Arc<Self>, now: Duration) {
        self.each_shared(
            |rate, store| rate.release(now, store),
            |seats, store| seats.release(now, store),
        );
    }

    /// Sends the due exchanges about limits that nodes share.
    fn each_shared(
        self: &Arc<Self>,
        of_rate: impl Fn(&mut SharedRate, StoreView) -> Option<TrafficAsk>,
        of_seats: impl Fn(&mut SharedSeats, StoreView) -> Option<TrafficAsk>,
    ) {
        let store = self.store();
        for kind in [TrafficKind::Requests, TrafficKind::Tokens] {
            let ask = match self.lock().bucket(kind) {
                Some(Bucket::Shared(rate)) => of_rate(rate, store),
                _ => None,
            };
            self.send(kind, ask);
        }
        let ask = match &mut self.lock().seats {
            Some(Seats::Shared(shared)) => of_seats(shared, store),
            _ => None,
        };
        self.send(TrafficKind::Seats, ask);
    }

    /// Receives the backend's reply; `None` if it did not respond.
    pub(super) fn replied(&self, kind: TrafficKind, grant: Option<TrafficGrant>) {
        {
            let mut state = self.lock();
            if kind == TrafficKind::Seats {
                if let Some(Seats::Shared(shared)) = &mut state.seats {
                    shared.replied(grant);
                }
            } else if let Some(Bucket::Shared(rate)) = state.bucket(kind) {
                rate.replied(grant);
            }
        }
        self.replied.notify_waiters();
    }

    /// The replies about a limit so far.
    fn replies(&self, kind: TrafficKind) -> u64 {
        let mut state = self.lock();
        if kind == TrafficKind::Seats {
            return match &state.seats {
                Some(Seats::Shared(shared)) => shared.replies(),
                _ => u64::MAX,
            };
        }
        match state.bucket(kind) {
            Some(Bucket::Shared(rate)) => rate.replies(),
            _ => u64::MAX,
        }
    }

    /// Waits until there are more replies than this.
    pub(super) async fn replied_after(&self, kind: TrafficKind, replies: u64) {
        loop {
            let next = self.replied.notified();
            if self.replies(kind) > replies {
                return;
            }
            next.await;
        }
    }

    /// The limit that the wait concerned.
    pub(super) fn refused_by(&self, kind: TrafficKind) -> RefusedBy {
        let traffic = self.lock().policy.traffic;
        let limit = |limit: Option<NonZeroU64>| limit.map_or(0, NonZeroU64::get);
        match kind {
            TrafficKind::Requests => RefusedBy::Requests(limit(traffic.requests_per_minute)),
            TrafficKind::Tokens => RefusedBy::Tokens(limit(traffic.tokens_per_minute)),
            TrafficKind::Seats => RefusedBy::Concurrent(limit(traffic.concurrent)),
        }
    }

    /// A request has waited long enough for the store.
    pub(super) fn expire(&self, kind: TrafficKind, now: Duration) {
        let store = self.store();
        let mut state = self.lock();
        if kind == TrafficKind::Seats {
            if let Some(Seats::Shared(shared)) = &mut state.seats {
                shared.expire(now, store);
            }
        } else if let Some(Bucket::Shared(rate)) = state.bucket(kind) {
            rate.expire(now);
        }
    }
}

impl LevelState {
    fn bucket(&mut self, kind: TrafficKind) -> Option<&mut Bucket> {
        match kind {
            TrafficKind::Requests => self.requests.as_mut(),
            TrafficKind::Tokens => self.tokens.as_mut(),
            TrafficKind::Seats => None,
        }
    }
}
