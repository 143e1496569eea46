//! Admission control: concurrent requests and the bytes they hold.
//!
//! Bytes are charged as they arrive, never as announced; a seat is acquired once the body is
//! complete, so a slow upload holds no seat. Seats and bytes are shared between clients by
//! deficit round robin ([`majordomo_limits`]). A permit lives until the last byte of its
//! response is sent.
//!
//! No request waits for bytes while holding some, and bytes precede the seat, so
//! requests cannot deadlock.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use majordomo_limits::{Acquire, Bounds, Budget, FairSemaphore, Flow, Permit as FairPermit};
use tokio::time::{Instant, timeout};

use crate::config::ServerSettings;
use crate::keys::{ClientKey, ClientKeys};
use crate::refusal::RequestRefusal;

/// Charge for a request's head and task, before its body.
const BASE_COST: u64 = 16 * 1024;
/// Granularity of byte reservations, to take the lock less often.
const GROWTH_STEP: u64 = 64 * 1024;
/// With several keys, one key may hold all but one in this many parts.
const HEADROOM: u64 = 8;
/// Queue length of all clients, in multiples of `max_requests`; one client may queue
/// `max_requests`.
const QUEUES: usize = 8;
/// `Retry-After` of a rejected request.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The flow of a request: its key, or its peer address without one.
pub(crate) fn flow_of(key: Option<&ClientKey>, from: IpAddr) -> Flow {
    key.map_or_else(|| Flow::peer(from), |key| Flow::named(key.name()))
}

/// Admission under one configuration's limits.
pub(crate) struct Admission {
    seats: FairSemaphore,
    bytes: FairSemaphore,
    base_cost: u64,
    wait: Duration,
    limits: AdmissionLimits,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct AdmissionLimits {
    requests: usize,
    bytes: u64,
    /// Whether several keys are configured.
    shared: bool,
}

impl AdmissionLimits {
    fn of(server: &ServerSettings, keys: &ClientKeys) -> Self {
        Self {
            requests: server.max_requests,
            bytes: server.max_bytes_in_flight,
            shared: keys.are_several(),
        }
    }

    fn bounds(self, units: u64) -> Bounds {
        let bounds = Bounds::new(units)
            .waiters(self.requests.saturating_mul(QUEUES))
            .waiters_per_flow(self.requests);
        if self.shared {
            bounds.held_per_flow(units - units / HEADROOM)
        } else {
            bounds
        }
    }
}

/// The bytes and seat of a request, released on drop.
pub(crate) struct RequestPermit {
    bytes: FairPermit,
    base_cost: u64,
    /// Acquired last, once the body is read.
    seat: Option<FairPermit>,
    /// Seats of the caller's own limits.
    own_seats: Vec<FairPermit>,
}

/// The remaining queue time of one request.
pub(crate) struct WaitBudget<'a> {
    admission: &'a Admission,
    flow: Flow,
    left: Duration,
}

impl Admission {
    /// Admission with the configured limits and queue time.
    pub(crate) fn new(server: &ServerSettings, keys: &ClientKeys, wait: Duration) -> Arc<Self> {
        Self::with_limits(AdmissionLimits::of(server, keys), wait)
    }

    fn with_limits(limits: AdmissionLimits, wait: Duration) -> Arc<Self> {
        let requests = limits.requests as u64;
        // All seats can be taken at once, however small the byte budget.
        let base_cost = BASE_COST.min(limits.bytes / requests.max(1) / 2);
        Arc::new(Self {
            seats: FairSemaphore::new(limits.bounds(requests)),
            bytes: FairSemaphore::new(limits.bounds(limits.bytes).quantum(base_cost)),
            base_cost,
            wait,
            limits,
        })
    }

    /// Whether a configuration has the same limits.
    pub(crate) fn has_limits_of(&self, server: &ServerSettings, keys: &ClientKeys) -> bool {
        self.limits == AdmissionLimits::of(server, keys)
    }

    /// Reserves the base cost, if available now.
    pub(crate) fn try_reserve(&self, flow: Flow) -> Option<RequestPermit> {
        let bytes = self.bytes.try_acquire(flow, self.base_cost)?;
        Some(self.permit(bytes))
    }

    /// Starts the queue time of one request.
    pub(crate) fn wait_budget(&self, flow: Flow) -> WaitBudget<'_> {
        WaitBudget {
            admission: self,
            flow,
            left: self.wait,
        }
    }

    fn permit(&self, bytes: FairPermit) -> RequestPermit {
        RequestPermit {
            bytes,
            base_cost: self.base_cost,
            seat: None,
            own_seats: Vec::new(),
        }
    }
}

impl WaitBudget<'_> {
    /// Waits for the base cost.
    pub(crate) async fn reserve(&mut self) -> Result<RequestPermit, RequestRefusal> {
        let admission = self.admission;
        let bytes = admission.bytes.acquire(self.flow, admission.base_cost);
        let bytes = self.wait_for(bytes).await?;
        Ok(admission.permit(bytes))
    }

    /// Takes a seat for a request whose body is read, if one is free.
    pub(crate) fn try_seat(&self, permit: &mut RequestPermit) -> bool {
        permit.seat = self.admission.seats.try_acquire(self.flow, 1);
        permit.seat.is_some()
    }

    /// Waits for a seat.
    pub(crate) async fn seat(&mut self, permit: &mut RequestPermit) -> Result<(), RequestRefusal> {
        let seat = self.admission.seats.acquire(self.flow, 1);
        permit.seat = Some(self.wait_for(seat).await?);
        Ok(())
    }

    async fn wait_for(&mut self, units: Acquire) -> Result<FairPermit, RequestRefusal> {
        let began = Instant::now();
        let got = timeout(self.left, units).await;
        self.left = self.left.saturating_sub(began.elapsed());
        got.ok().and_then(|got| got.ok()).ok_or_else(overloaded)
    }
}

impl RequestPermit {
    /// Keeps seats of the caller's limits for as long as the request.
    pub(crate) fn keep(&mut self, seats: Vec<FairPermit>) {
        self.own_seats = seats;
    }

    /// Grows the reservation to a body of `length` bytes so far and at most `most`.
    /// Never waits: two half-read bodies could wait for each other.
    pub(crate) fn grow_to(&mut self, length: u64, most: u64) -> Result<(), RequestRefusal> {
        let held = self.bytes.units();
        if length <= held {
            return Ok(());
        }
        let ahead = length.next_multiple_of(GROWTH_STEP).min(most.max(length));
        if self.bytes.try_grow(ahead - held) || self.bytes.try_grow(length - held) {
            return Ok(());
        }
        Err(overloaded())
    }

    /// The budget to which the request's other memory is charged.
    pub(crate) fn budget(&self) -> Budget {
        Budget::of(&self.bytes)
    }

    /// Releases the bytes reserved beyond the complete body.
    pub(crate) fn settle(&mut self, length: u64) {
        self.bytes.shrink_to(length.max(self.base_cost));
    }
}

pub(super) fn overloaded() -> RequestRefusal {
    let text = "the gateway is overloaded: too many requests are being served; retry later";
    RequestRefusal::new(503, text).with_retry_after(RETRY_AFTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn admission(requests: usize, bytes: u64) -> Arc<Admission> {
        let limits = AdmissionLimits {
            requests,
            bytes,
            shared: false,
        };
        Admission::with_limits(limits, Duration::from_secs(5))
    }

    fn one() -> Flow {
        Flow::named("one")
    }

    /// Admits one request, through the queue if necessary.
    async fn enter(
        admission: &Admission,
        flow: Flow,
        body: u64,
    ) -> Result<RequestPermit, RequestRefusal> {
        let mut wait_budget = admission.wait_budget(flow);
        let mut permit = match admission.try_reserve(flow) {
            Some(permit) => permit,
            None => wait_budget.reserve().await?,
        };
        permit.grow_to(body, body)?;
        permit.settle(body);
        wait_budget.seat(&mut permit).await?;
        Ok(permit)
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_beyond_the_limit_waits_and_is_rejected_with_retry_after() {
        let admission = admission(1, MIB);
        let first = enter(&admission, one(), 10).await.unwrap();
        let began = tokio::time::Instant::now();
        let Err(error) = enter(&admission, one(), 10).await else {
            panic!("two were admitted");
        };
        assert_eq!(began.elapsed(), Duration::from_secs(5));
        assert_eq!(error.status(), 503);
        assert_eq!(error.retry_after(), Some(Duration::from_secs(1)));
        drop(first);
        assert!(enter(&admission, one(), 10).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_queued_request_is_admitted_when_another_ends() {
        let admission = admission(1, MIB);
        let first = enter(&admission, one(), 0).await.unwrap();
        let waiting = enter(&admission, one(), 0);
        let ending = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            drop(first);
        };
        let (second, ()) = tokio::join!(waiting, ending);
        assert!(second.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn one_client_queues_at_most_max_requests() {
        let admission = admission(2, MIB);
        let _served = (
            enter(&admission, one(), 0).await.unwrap(),
            enter(&admission, one(), 0).await.unwrap(),
        );
        let began = tokio::time::Instant::now();
        let late = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let refused = enter(&admission, one(), 0).await.is_err();
            (refused, began.elapsed())
        };
        let (_, _, (refused, after)) = tokio::join!(
            enter(&admission, one(), 0),
            enter(&admission, one(), 0),
            late
        );
        assert!(refused);
        assert!(after < Duration::from_secs(1), "{after:?}");
        assert_eq!(admission.seats.waiting(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_are_held_until_the_permit_is_dropped() {
        let admission = admission(9, MIB);
        let first = enter(&admission, one(), MIB / 2).await.unwrap();
        let second = enter(&admission, one(), MIB / 2).await.unwrap();
        assert!(enter(&admission, one(), 1).await.is_err());
        drop(first);
        assert!(enter(&admission, one(), MIB / 2).await.is_ok());
        drop(second);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_is_charged_as_it_arrives() {
        let admission = admission(9, MIB);
        let mut permit = admission.try_reserve(one()).unwrap();
        assert!(admission.bytes.available() > MIB - 64 * 1024);
        permit.grow_to(700 << 10, MIB).unwrap();
        permit.grow_to(700 << 10, MIB).unwrap();
        assert!(permit.grow_to(2 * MIB, 2 * MIB).is_err());
        assert!(enter(&admission, one(), 900 << 10).await.is_err());
        drop(permit);
        assert!(enter(&admission, one(), MIB).await.is_ok());
    }

    #[tokio::test]
    async fn the_largest_body_fits_into_a_budget_of_its_size() {
        let admission = admission(1024, MIB + 1);
        let mut permit = admission.try_reserve(one()).unwrap();
        for length in [1, 70_000, MIB, MIB + 1] {
            permit.grow_to(length, 2 * MIB).unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn waits_for_bytes_and_seat_share_one_queue_time() {
        let admission = admission(1, MIB);
        let seated = enter(&admission, one(), 0).await.unwrap();
        let mut filling = admission.try_reserve(one()).unwrap();
        let rest = admission.bytes.available() + filling.bytes.units();
        filling.grow_to(rest, rest).unwrap();
        let began = Instant::now();
        let ending = async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            drop(filling);
        };
        // Bytes after three seconds leave two for the seat.
        let (late, ()) = tokio::join!(enter(&admission, one(), 10), ending);
        assert!(late.is_err());
        assert_eq!(began.elapsed(), Duration::from_secs(5));
        drop(seated);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_request_frees_its_place_in_the_queue() {
        let admission = admission(1, MIB);
        let _seated = enter(&admission, one(), 0).await.unwrap();
        for _ in 0..3 {
            let cancelled = timeout(Duration::from_secs(1), enter(&admission, one(), 0)).await;
            assert!(cancelled.is_err(), "it was not queued");
        }
        assert_eq!(admission.seats.waiting(), 0);
        assert_eq!(admission.bytes.held_by(one()), admission.base_cost);
    }

    /// One-second requests: a thousand of one key, then one of another.
    #[tokio::test(start_paused = true)]
    async fn a_thousand_requests_of_one_key_delay_another_key_by_one_request() {
        let limits = AdmissionLimits {
            requests: 2000,
            bytes: 1 << 30,
            shared: false,
        };
        let mut admission = Admission::with_limits(limits, Duration::from_secs(3600));
        let one_seat = Bounds::new(1).waiters(2000);
        Arc::get_mut(&mut admission).unwrap().seats = FairSemaphore::new(one_seat);
        let serve = |flow| {
            let admission = Arc::clone(&admission);
            async move {
                let permit = enter(&admission, flow, 100).await.unwrap();
                tokio::time::sleep(Duration::from_secs(1)).await;
                drop(permit);
            }
        };
        let mut crowd = tokio::task::JoinSet::new();
        for _ in 0..1000 {
            crowd.spawn(serve(one()));
        }
        tokio::task::yield_now().await;
        let began = Instant::now();
        serve(Flow::named("another")).await;
        let took = began.elapsed();
        // The running request, one round, and its own second.
        assert!(took <= Duration::from_secs(3), "{took:?}");
    }

    #[tokio::test]
    async fn one_of_several_keys_can_hold_at_most_seven_eighths() {
        let limits = AdmissionLimits {
            requests: 16,
            bytes: 16 * MIB,
            shared: true,
        };
        let admission = Admission::with_limits(limits, Duration::ZERO);
        let mut held = Vec::new();
        for _ in 0..14 {
            held.push(enter(&admission, one(), MIB).await.unwrap());
        }
        assert!(enter(&admission, one(), MIB).await.is_err());
        let other = Flow::named("another");
        assert!(enter(&admission, other, MIB).await.is_ok());
    }
}
