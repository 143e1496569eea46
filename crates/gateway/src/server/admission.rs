//! Who gets in: so many requests, and so many bytes of their bodies, at once.
//!
//! A request that finds no room waits a short while among few others, then it is
//! told to come back. It waits for its seat with its body read, because only then
//! is a client that leaves the queue seen to leave. Its permit lives as long as its answer, so what it holds is
//! counted until the last byte is out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use majordomo::{Error, ErrorKind, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::config::Server;

/// Bytes are counted in these: a semaphore's requests are 32 bits wide.
const UNIT: u64 = 1024;
/// A body of unknown length takes this much at a time.
const STEP: u64 = 256 * 1024;
/// When to come back.
const COME_BACK: Duration = Duration::from_secs(1);

/// The room that one configuration gives.
pub(crate) struct Admission {
    requests: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    waiting: AtomicUsize,
    wait: Duration,
    most_requests: usize,
    most_bytes: u64,
}

/// The right to be served; it gives its room back when it is dropped.
pub(crate) struct Permit {
    room: Arc<Semaphore>,
    held: OwnedSemaphorePermit,
    reserved: u64,
    /// Who had to wait gets it last.
    seat: Option<OwnedSemaphorePermit>,
}

/// A place in the queue, given up when it is dropped.
pub(crate) struct Queued<'a> {
    admission: &'a Admission,
    /// How much longer this request may wait.
    left: Duration,
    _place: Place<'a>,
}

impl Admission {
    /// Room as a file says, and how long to wait for it.
    pub(crate) fn new(server: &Server, wait: Duration) -> Arc<Self> {
        Self::with_room(server.max_requests, server.max_bytes_in_flight, wait)
    }

    fn with_room(most_requests: usize, most_bytes: u64, wait: Duration) -> Arc<Self> {
        let units = usize::try_from(units(most_bytes)).unwrap_or(usize::MAX);
        let permits = |n: usize| Arc::new(Semaphore::new(n.min(Semaphore::MAX_PERMITS)));
        Arc::new(Self {
            requests: permits(most_requests),
            bytes: permits(units),
            waiting: AtomicUsize::new(0),
            wait,
            most_requests,
            most_bytes,
        })
    }

    /// Whether a file gives the same room.
    pub(crate) fn fits(&self, server: &Server) -> bool {
        (self.most_requests, self.most_bytes) == (server.max_requests, server.max_bytes_in_flight)
    }

    /// Lets a request in that announces so many bytes, if there is room now.
    pub(crate) fn admit(&self, announced: u64) -> Option<Permit> {
        let units = u32::try_from(units(announced)).ok()?;
        let seat = Arc::clone(&self.requests).try_acquire_owned().ok()?;
        let held = Arc::clone(&self.bytes).try_acquire_many_owned(units).ok()?;
        Some(self.permit(held, announced, Some(seat)))
    }

    /// Room for a body without a seat, if there is any now.
    pub(crate) fn room_now(&self, announced: u64) -> Result<Permit> {
        let units = u32::try_from(units(announced)).map_err(|_| overloaded())?;
        let held = Arc::clone(&self.bytes).try_acquire_many_owned(units);
        let held = held.map_err(|_| overloaded())?;
        Ok(self.permit(held, announced, None))
    }

    /// A place among those who wait for room.
    pub(crate) fn queue(&self) -> Result<Queued<'_>> {
        let place = Place::take(&self.waiting, self.most_requests).ok_or_else(overloaded)?;
        Ok(Queued {
            admission: self,
            left: self.wait,
            _place: place,
        })
    }

    fn permit(
        &self,
        held: OwnedSemaphorePermit,
        reserved: u64,
        seat: Option<OwnedSemaphorePermit>,
    ) -> Permit {
        Permit {
            room: Arc::clone(&self.bytes),
            held,
            reserved,
            seat,
        }
    }
}

/// Bytes first and the seat last, always: with both orders, two who wait could
/// wait for each other.
impl Queued<'_> {
    /// Waits for room for a body.
    pub(crate) async fn room(&mut self, announced: u64) -> Result<Permit> {
        let units = u32::try_from(units(announced)).map_err(|_| overloaded())?;
        let bytes = Arc::clone(&self.admission.bytes);
        let held = self.wait_for(bytes, units).await?;
        Ok(self.admission.permit(held, announced, None))
    }

    /// Waits for a seat, with the body at hand.
    pub(crate) async fn seat(&mut self, permit: &mut Permit) -> Result<()> {
        let seats = Arc::clone(&self.admission.requests);
        permit.seat = Some(self.wait_for(seats, 1).await?);
        Ok(())
    }

    async fn wait_for(&mut self, from: Arc<Semaphore>, many: u32) -> Result<OwnedSemaphorePermit> {
        let began = Instant::now();
        let got = timeout(self.left, from.acquire_many_owned(many)).await;
        self.left = self.left.saturating_sub(began.elapsed());
        got.ok().and_then(|got| got.ok()).ok_or_else(overloaded)
    }
}

impl Permit {
    /// Makes room for a body that has become this long. It does not wait: two
    /// half-read bodies could wait for each other.
    pub(crate) fn reach(&mut self, length: u64) -> Result<()> {
        if length <= self.reserved {
            return Ok(());
        }
        let more = (length - self.reserved).max(STEP);
        let wanted = u32::try_from(units(more)).map_err(|_| overloaded())?;
        let got = Arc::clone(&self.room).try_acquire_many_owned(wanted);
        self.held.merge(got.map_err(|_| overloaded())?);
        self.reserved += more;
        Ok(())
    }
}

/// One place among those who wait.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize, most: usize) -> Option<Self> {
        // The place is given back on drop, also when there was none left.
        let place = Self(waiting);
        (waiting.fetch_add(1, Ordering::Relaxed) < most).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn units(bytes: u64) -> u64 {
    bytes.div_ceil(UNIT)
}

fn overloaded() -> Error {
    let text = "the gateway is overloaded: too many requests are being served; try again";
    Error::new(ErrorKind::Local, text)
        .with_status(503)
        .with_retry_after(Some(COME_BACK))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(requests: usize, bytes: u64) -> Arc<Admission> {
        Admission::with_room(requests, bytes, Duration::from_secs(5))
    }

    /// The whole way of one request, if need be through the queue.
    async fn enter(admission: &Admission, announced: u64) -> Result<Permit> {
        if let Some(permit) = admission.admit(announced) {
            return Ok(permit);
        }
        let mut queued = admission.queue()?;
        let mut permit = queued.room(announced).await?;
        queued.seat(&mut permit).await?;
        Ok(permit)
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_beyond_the_limit_waits_and_is_then_told_to_come_back() {
        let admission = admission(1, 1 << 20);
        let first = enter(&admission, 10).await.unwrap();
        let began = tokio::time::Instant::now();
        let Err(error) = enter(&admission, 10).await else {
            panic!("two got in");
        };
        assert_eq!(began.elapsed(), Duration::from_secs(5));
        assert_eq!(error.status(), Some(503));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(1)));
        drop(first);
        assert!(enter(&admission, 10).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_waits_gets_in_when_another_ends() {
        let admission = admission(1, 1 << 20);
        let first = enter(&admission, 0).await.unwrap();
        let waiting = enter(&admission, 0);
        let ending = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            drop(first);
        };
        let (second, ()) = tokio::join!(waiting, ending);
        assert!(second.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_is_no_longer_than_what_is_served() {
        let admission = admission(2, 1 << 20);
        let _served = (
            enter(&admission, 0).await.unwrap(),
            enter(&admission, 0).await.unwrap(),
        );
        let began = tokio::time::Instant::now();
        let late = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let refused = enter(&admission, 0).await.is_err();
            (refused, began.elapsed())
        };
        let (_, _, (refused, after)) =
            tokio::join!(enter(&admission, 0), enter(&admission, 0), late);
        assert!(refused);
        assert!(after < Duration::from_secs(1), "{after:?}");
        assert_eq!(admission.waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn announced_bytes_are_held_until_the_permit_is_dropped() {
        let admission = admission(9, 1 << 20);
        let first = enter(&admission, 1 << 19).await.unwrap();
        let second = enter(&admission, 1 << 19).await.unwrap();
        assert!(enter(&admission, 1).await.is_err());
        drop(first);
        assert!(enter(&admission, 1 << 19).await.is_ok());
        drop(second);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_of_unknown_length_takes_room_as_it_comes() {
        let admission = admission(9, 1 << 20);
        let mut permit = enter(&admission, 0).await.unwrap();
        permit.reach(700 << 10).unwrap();
        permit.reach(700 << 10).unwrap();
        assert!(permit.reach(2 << 20).is_err());
        assert!(enter(&admission, 900 << 10).await.is_err());
        drop(permit);
        assert!(enter(&admission, 1 << 20).await.is_ok());
    }

    #[tokio::test]
    async fn room_without_a_seat_is_counted_among_the_bytes_alone() {
        let admission = admission(1, 1 << 20);
        let seated = admission.admit(1 << 19).unwrap();
        let looking = admission.room_now(1 << 19).unwrap();
        assert!(admission.room_now(1).is_err());
        drop((seated, looking));
        let _looking = admission.room_now(1 << 19).unwrap();
        assert!(admission.admit(1 << 19).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn one_wait_in_two_parts_is_no_longer_than_one() {
        let admission = admission(1, 1 << 20);
        let seated = enter(&admission, 0).await.unwrap();
        let filling = {
            let mut queued = admission.queue().unwrap();
            queued.room(1 << 20).await.unwrap()
        };
        let began = Instant::now();
        let ending = async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            drop(filling);
        };
        // Room after three seconds leaves two for the seat.
        let (late, ()) = tokio::join!(enter(&admission, 1 << 20), ending);
        assert!(late.is_err());
        assert_eq!(began.elapsed(), Duration::from_secs(5));
        drop(seated);
    }

    #[tokio::test(start_paused = true)]
    async fn who_leaves_the_queue_leaves_a_place_in_it() {
        let admission = admission(1, 1 << 20);
        let _seated = enter(&admission, 0).await.unwrap();
        for _ in 0..3 {
            let gone = timeout(Duration::from_secs(1), enter(&admission, 0)).await;
            assert!(gone.is_err(), "it was not queued");
        }
        assert_eq!(admission.waiting.load(Ordering::Relaxed), 0);
    }
}
