//! Concurrency seats: requests in flight and their limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use super::{ServiceStats, micros};

/// The capacity of an unlimited service.
const NO_LIMIT: usize = usize::MAX;

/// A lock-free counting semaphore whose limit can change while seats are taken.
#[derive(Debug)]
pub(super) struct Seats {
    taken: AtomicUsize,
    limit: AtomicUsize,
    /// How long a request waits for a seat, in microseconds.
    wait: AtomicU64,
    freed: Notify,
}

impl Default for Seats {
    fn default() -> Self {
        Self {
            taken: AtomicUsize::new(0),
            limit: AtomicUsize::new(NO_LIMIT),
            wait: AtomicU64::new(0),
            freed: Notify::new(),
        }
    }
}

/// One request in flight; dropping it frees the seat.
#[derive(Debug)]
pub struct Seat(Arc<ServiceStats>);

/// No seat became free in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoFreeSeat {
    /// The number of seats.
    pub seats: usize,
    /// How long the request waited.
    pub waited: Duration,
}

impl Seats {
    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    pub(super) fn are_taken(&self) -> bool {
        self.taken() >= self.limit.load(Ordering::Relaxed)
    }

    /// Sets the limit for later requests; seats already taken are kept.
    pub(super) fn limit(&self, capacity: Option<usize>, wait: Duration) {
        self.limit
            .store(capacity.unwrap_or(NO_LIMIT), Ordering::Relaxed);
        self.wait.store(micros(wait), Ordering::Relaxed);
        self.freed.notify_waiters();
    }

    pub(super) async fn take(stats: &Arc<ServiceStats>) -> Result<Seat, NoFreeSeat> {
        if let Some(seat) = Self::try_take(stats) {
            return Ok(seat);
        }
        let seats = &stats.seats;
        let waited = Duration::from_micros(seats.wait.load(Ordering::Relaxed));
        let full = |_| NoFreeSeat {
            seats: seats.limit.load(Ordering::Relaxed),
            waited,
        };
        timeout(waited, Self::wait_for(stats)).await.map_err(full)
    }

    async fn wait_for(stats: &Arc<ServiceStats>) -> Seat {
        loop {
            let mut freed = std::pin::pin!(stats.seats.freed.notified());
            // Registered before the check, so that no release in between is missed.
            freed.as_mut().enable();
            if let Some(seat) = Self::try_take(stats) {
                return seat;
            }
            freed.await;
        }
    }

    pub(super) fn try_take(stats: &Arc<ServiceStats>) -> Option<Seat> {
        let seats = &stats.seats;
        let limit = seats.limit.load(Ordering::Relaxed);
        let one_more = |taken| (taken < limit).then_some(taken + 1);
        seats
            .taken
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, one_more)
            .ok()?;
        Some(Seat(Arc::clone(stats)))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let seats = &self.0.seats;
        seats.taken.fetch_sub(1, Ordering::AcqRel);
        seats.freed.notify_one();
    }
}
