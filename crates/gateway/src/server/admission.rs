//! Who gets in: so many requests at once, and so many bytes that they hold.
//!
//! Bytes are charged as they arrive, never as they are announced; a seat is taken once
//! a body is complete, so that a slow upload holds neither. Seats and bytes are
//! shared between clients by deficit round robin ([`majordomo_limits`]). A permit
//! lives as long as its answer, so what it holds is counted until the last byte
//! is out.
//!
//! Nobody waits for bytes while holding some, and bytes come before the seat: no
//! two requests can wait for each other.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use majordomo::{Error, ErrorKind, Result};
use majordomo_limits::{Acquire, Bounds, Budget, FairSemaphore, Flow, Permit as Units};
use tokio::time::{Instant, timeout};

use crate::config::ServerSettings;
use crate::keys::{ClientKey, ClientKeys};

/// What a request costs before a byte of its body has come: its head and its task.
const FEE: u64 = 16 * 1024;
/// The lock is taken once for so many bytes of a body.
const STEP: u64 = 64 * 1024;
/// Where several keys share a gateway, one of them may hold all but this part.
const HEADROOM: u64 = 8;
/// One client's queue is as long as what is served; all of them, so many times that.
const QUEUES: usize = 8;
/// When to come back.
const COME_BACK: Duration = Duration::from_secs(1);

/// Whose request it is: the key's, or the peer's where nobody has a key.
pub(crate) fn flow_of(key: Option<&ClientKey>, from: IpAddr) -> Flow {
    key.map_or_else(|| Flow::peer(from), |key| Flow::named(key.name()))
}

/// The room that one configuration gives.
pub(crate) struct Admission {
    seats: FairSemaphore,
    bytes: FairSemaphore,
    fee: u64,
    wait: Duration,
    room: Room,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Room {
    requests: usize,
    bytes: u64,
    /// Whether several keys share it.
    shared: bool,
}

impl Room {
    fn of(server: &ServerSettings, keys: &ClientKeys) -> Self {
        Self {
            requests: server.max_requests,
            bytes: server.max_bytes_in_flight,
            shared: keys.names().nth(1).is_some(),
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

/// What a request holds; it is given back when this is dropped.
pub(crate) struct Permit {
    bytes: Units,
    fee: u64,
    /// It comes last, with the body read.
    seat: Option<Units>,
}

/// How much longer one request may wait.
pub(crate) struct Patience<'a> {
    admission: &'a Admission,
    flow: Flow,
    left: Duration,
}

impl Admission {
    /// Room as a file says, and how long to wait for it.
    pub(crate) fn new(server: &ServerSettings, keys: &ClientKeys, wait: Duration) -> Arc<Self> {
        Self::with_room(Room::of(server, keys), wait)
    }

    fn with_room(room: Room, wait: Duration) -> Arc<Self> {
        let requests = room.requests as u64;
        // All seats can be taken at once, however small the budget is.
        let fee = FEE.min(room.bytes / requests.max(1) / 2);
        Arc::new(Self {
            seats: FairSemaphore::new(room.bounds(requests)),
            bytes: FairSemaphore::new(room.bounds(room.bytes).quantum(fee)),
            fee,
            wait,
            room,
        })
    }

    /// Whether a file gives the same room.
    pub(crate) fn fits(&self, server: &ServerSettings, keys: &ClientKeys) -> bool {
        self.room == Room::of(server, keys)
    }

    /// Room to begin with, if there is any now.
    pub(crate) fn room_now(&self, flow: Flow) -> Option<Permit> {
        let bytes = self.bytes.try_acquire(flow, self.fee)?;
        Some(self.permit(bytes))
    }

    /// One request's wait.
    pub(crate) fn patience(&self, flow: Flow) -> Patience<'_> {
        Patience {
            admission: self,
            flow,
            left: self.wait,
        }
    }

    fn permit(&self, bytes: Units) -> Permit {
        Permit {
            bytes,
            fee: self.fee,
            seat: None,
        }
    }
}

impl Patience<'_> {
    /// Waits for room to begin with.
    pub(crate) async fn room(&mut self) -> Result<Permit> {
        let admission = self.admission;
        let bytes = admission.bytes.acquire(self.flow, admission.fee);
        let bytes = self.wait_for(bytes).await?;
        Ok(admission.permit(bytes))
    }

    /// Takes a seat for a request whose body is read, if there is one now.
    pub(crate) fn seat_now(&self, permit: &mut Permit) -> bool {
        permit.seat = self.admission.seats.try_acquire(self.flow, 1);
        permit.seat.is_some()
    }

    /// Waits for a seat.
    pub(crate) async fn seat(&mut self, permit: &mut Permit) -> Result<()> {
        let seat = self.admission.seats.acquire(self.flow, 1);
        permit.seat = Some(self.wait_for(seat).await?);
        Ok(())
    }

    async fn wait_for(&mut self, units: Acquire) -> Result<Units> {
        let began = Instant::now();
        let got = timeout(self.left, units).await;
        self.left = self.left.saturating_sub(began.elapsed());
        got.ok().and_then(|got| got.ok()).ok_or_else(overloaded)
    }
}

impl Permit {
    /// Makes room for a body of which so many bytes are there; it will not have
    /// more than `most`. It does not wait: two half-read bodies could wait for each
    /// other.
    pub(crate) fn reach(&mut self, length: u64, most: u64) -> Result<()> {
        let held = self.bytes.units();
        if length <= held {
            return Ok(());
        }
        let ahead = length.next_multiple_of(STEP).min(most.max(length));
        if self.bytes.try_grow(ahead - held) || self.bytes.try_grow(length - held) {
            return Ok(());
        }
        Err(overloaded())
    }

    /// What else the request holds is charged to the same budget.
    pub(crate) fn budget(&self) -> Budget {
        Budget::of(&self.bytes)
    }

    /// The body is complete: what was taken ahead of it is given back.
    pub(crate) fn settle(&mut self, length: u64) {
        self.bytes.shrink_to(length.max(self.fee));
    }
}

pub(super) fn overloaded() -> Error {
    let text = "the gateway is overloaded: too many requests are being served; try again";
    Error::new(ErrorKind::Local, text)
        .with_status(503)
        .with_retry_after(Some(COME_BACK))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn admission(requests: usize, bytes: u64) -> Arc<Admission> {
        let room = Room {
            requests,
            bytes,
            shared: false,
        };
        Admission::with_room(room, Duration::from_secs(5))
    }

    fn one() -> Flow {
        Flow::named("one")
    }

    /// The whole way of one request, if need be through the queue.
    async fn enter(admission: &Admission, flow: Flow, body: u64) -> Result<Permit> {
        let mut patience = admission.patience(flow);
        let mut permit = match admission.room_now(flow) {
            Some(permit) => permit,
            None => patience.room().await?,
        };
        permit.reach(body, body)?;
        permit.settle(body);
        patience.seat(&mut permit).await?;
        Ok(permit)
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_beyond_the_limit_waits_and_is_then_told_to_come_back() {
        let admission = admission(1, MIB);
        let first = enter(&admission, one(), 10).await.unwrap();
        let began = tokio::time::Instant::now();
        let Err(error) = enter(&admission, one(), 10).await else {
            panic!("two got in");
        };
        assert_eq!(began.elapsed(), Duration::from_secs(5));
        assert_eq!(error.status(), Some(503));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(1)));
        drop(first);
        assert!(enter(&admission, one(), 10).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_waits_gets_in_when_another_ends() {
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
    async fn the_queue_is_no_longer_than_what_is_served() {
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
    async fn a_body_takes_room_as_it_comes() {
        let admission = admission(9, MIB);
        let mut permit = admission.room_now(one()).unwrap();
        assert!(admission.bytes.available() > MIB - 64 * 1024);
        permit.reach(700 << 10, MIB).unwrap();
        permit.reach(700 << 10, MIB).unwrap();
        assert!(permit.reach(2 * MIB, 2 * MIB).is_err());
        assert!(enter(&admission, one(), 900 << 10).await.is_err());
        drop(permit);
        assert!(enter(&admission, one(), MIB).await.is_ok());
    }

    #[tokio::test]
    async fn the_largest_body_fits_into_a_budget_of_its_size() {
        let admission = admission(1024, MIB + 1);
        let mut permit = admission.room_now(one()).unwrap();
        for length in [1, 70_000, MIB, MIB + 1] {
            permit.reach(length, 2 * MIB).unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_wait_in_two_parts_is_no_longer_than_one() {
        let admission = admission(1, MIB);
        let seated = enter(&admission, one(), 0).await.unwrap();
        let mut filling = admission.room_now(one()).unwrap();
        let rest = admission.bytes.available() + filling.bytes.units();
        filling.reach(rest, rest).unwrap();
        let began = Instant::now();
        let ending = async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            drop(filling);
        };
        // Room after three seconds leaves two for the seat.
        let (late, ()) = tokio::join!(enter(&admission, one(), 10), ending);
        assert!(late.is_err());
        assert_eq!(began.elapsed(), Duration::from_secs(5));
        drop(seated);
    }

    #[tokio::test(start_paused = true)]
    async fn who_leaves_the_queue_leaves_a_place_in_it() {
        let admission = admission(1, MIB);
        let _seated = enter(&admission, one(), 0).await.unwrap();
        for _ in 0..3 {
            let gone = timeout(Duration::from_secs(1), enter(&admission, one(), 0)).await;
            assert!(gone.is_err(), "it was not queued");
        }
        assert_eq!(admission.seats.waiting(), 0);
        assert_eq!(admission.bytes.held_by(one()), admission.fee);
    }

    /// Requests of one second each: a thousand of one key, then one of another.
    #[tokio::test(start_paused = true)]
    async fn a_thousand_requests_of_one_key_delay_anothers_single_one_by_one_turn() {
        let room = Room {
            requests: 2000,
            bytes: 1 << 30,
            shared: false,
        };
        let mut admission = Admission::with_room(room, Duration::from_secs(3600));
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
        // The one that is served, one turn, and its own second.
        assert!(took <= Duration::from_secs(3), "{took:?}");
    }

    #[tokio::test]
    async fn one_of_several_keys_leaves_an_eighth_to_the_others() {
        let room = Room {
            requests: 16,
            bytes: 16 * MIB,
            shared: true,
        };
        let admission = Admission::with_room(room, Duration::ZERO);
        let mut held = Vec::new();
        for _ in 0..14 {
            held.push(enter(&admission, one(), MIB).await.unwrap());
        }
        assert!(enter(&admission, one(), MIB).await.is_err());
        let other = Flow::named("another");
        assert!(enter(&admission, other, MIB).await.is_ok());
    }
}
