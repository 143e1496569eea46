//! The bounded pool of blocking threads.
//!
//! Whoever runs holds a place and its share of memory until the thread really
//! ends. A thread that is stuck keeps both, so a pool whose threads are all
//! stuck refuses work instead of piling it up.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::bounds::working_set;
use crate::header::Header;
use crate::shelf::Address;
use crate::{Bounds, Problem, Stop};

/// Memory is handed out in pieces of this many bytes.
const PIECE: u64 = 1 << 20;
/// What work on an image holds beside its pixels: the strip that is being scaled,
/// and what is written.
const SCRATCH: u64 = 5 << 20;
/// Hashing this much takes less time than changing threads.
const HASHED_IN_PLACE: usize = 64 << 10;

pub(super) struct Pool {
    workers: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    pieces: u32,
    max_time: Duration,
    max_wait: Duration,
}

impl Pool {
    pub(super) fn new(bounds: &Bounds) -> Self {
        let pieces = u32::try_from(bounds.max_decoding.div_ceil(PIECE)).unwrap_or(u32::MAX >> 4);
        Self {
            workers: Arc::new(Semaphore::new(bounds.workers.max(1))),
            memory: Arc::new(Semaphore::new(pieces as usize)),
            pieces,
            max_time: bounds.max_time,
            max_wait: bounds.max_wait,
        }
    }

    /// The content address of encoded bytes.
    pub(super) async fn address(&self, data: &Bytes) -> Result<Address, Problem> {
        let hash = |data: &[u8]| *blake3::hash(data).as_bytes();
        if data.len() <= HASHED_IN_PLACE {
            return Ok(hash(data));
        }
        let data = data.clone();
        spawn_blocking(move || hash(&data))
            .await
            .map_err(|_| Problem::DecoderFailed)
    }

    /// Runs work on a blocking thread, and stops it when its time is over or
    /// when nobody waits for it any more.
    pub(super) async fn run<T, F>(&self, header: &Header, work: F) -> Result<T, Problem>
    where
        T: Send + 'static,
        F: FnOnce(&Stop) -> Result<T, Problem> + Send + 'static,
    {
        let place = timeout(self.max_wait, self.place(header))
            .await
            .map_err(|_| Problem::Busy)??;
        let stop = StopOnDrop(Stop::new());
        let flag = stop.0.clone();
        let thread = spawn_blocking(move || {
            let result = work(&flag);
            drop(place);
            result
        });
        match timeout(self.max_time, thread).await {
            Ok(Ok(result)) => result,
            Ok(Err(_panicked)) => Err(Problem::DecoderFailed),
            Err(_elapsed) => Err(Problem::Stopped),
        }
    }

    async fn place(
        &self,
        header: &Header,
    ) -> Result<(OwnedSemaphorePermit, OwnedSemaphorePermit), Problem> {
        let pieces = working_set(header).saturating_add(SCRATCH).div_ceil(PIECE);
        let pieces = u32::try_from(pieces).unwrap_or(u32::MAX).min(self.pieces);
        let closed = |_| Problem::Busy;
        let memory = Arc::clone(&self.memory).acquire_many_owned(pieces);
        let memory = memory.await.map_err(closed)?;
        let worker = Arc::clone(&self.workers).acquire_owned();
        Ok((worker.await.map_err(closed)?, memory))
    }
}

/// Ends the work when the future that waits for it is dropped or done.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}
