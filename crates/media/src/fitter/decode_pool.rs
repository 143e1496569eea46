//! The bounded pool of blocking threads.
//!
//! Whoever runs holds a place and its share of memory until the thread really
//! ends. A thread that is stuck keeps both, so a pool whose threads are all
//! stuck refuses work instead of piling it up.

use std::time::Duration;

use bytes::Bytes;
use majordomo_image_header::Header;
use majordomo_limits::{Bounds as Units, Charge, FairSemaphore, Flow, Permit};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::bounds::working_set;
use crate::decoded_cache::ContentHash;
use crate::{Bounds, Problem, Stop};

/// Memory is handed out in pieces of this many bytes.
const PIECE: u64 = 1 << 20;
/// What work on an image holds beside its pixels: the strip that is being scaled,
/// and what is written.
const SCRATCH: u64 = 5 << 20;
/// Pieces that a tenant may take in one turn: a photo of usual size.
const TURN: u64 = 32;
/// Hashing this much takes less time than changing threads.
const HASHED_IN_PLACE: usize = 64 << 10;

pub(super) struct DecodePool {
    workers: FairSemaphore,
    memory: FairSemaphore,
    pieces: u64,
    max_time: Duration,
    max_wait: Duration,
}

impl DecodePool {
    pub(super) fn new(bounds: &Bounds) -> Self {
        let pieces = bounds.max_decoding.div_ceil(PIECE);
        Self {
            workers: FairSemaphore::new(Units::new(bounds.workers.max(1) as u64)),
            memory: FairSemaphore::new(Units::new(pieces).quantum(TURN)),
            pieces,
            max_time: bounds.max_time,
            max_wait: bounds.max_wait,
        }
    }

    /// The content address of encoded bytes.
    pub(super) async fn address(&self, data: &Bytes) -> Result<ContentHash, Problem> {
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

    /// Memory and a thread, shared fairly between tenants. Pixels are charged to the
    /// budget of the request, too, where it has one. A thread comes last: nobody
    /// waits while holding one.
    async fn place(&self, header: &Header) -> Result<(Permit, Charge, Permit), Problem> {
        let flow = Flow::current();
        let needed = working_set(header).saturating_add(SCRATCH);
        let pieces = needed.div_ceil(PIECE).min(self.pieces);
        let busy = |_| Problem::Busy;
        let memory = self.memory.acquire(flow, pieces).await.map_err(busy)?;
        let mut charge = Charge::begin();
        charge.wait_for(needed).await;
        let worker = self.workers.acquire(flow, 1).await.map_err(busy)?;
        Ok((worker, charge, memory))
    }
}

/// Ends the work when the future that waits for it is dropped or done.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use majordomo_limits::Budget;
    use tokio::task::{JoinSet, yield_now};

    use super::*;
    use crate::{Format, Orientation};
    use majordomo_image_header::Compression;

    /// An image that needs next to nothing.
    fn header() -> Header {
        Header {
            format: Format::Png,
            width: 1,
            height: 1,
            frames: 1,
            bit_depth: 8,
            channels: 3,
            orientation: Orientation::default(),
            clean_end: true,
            compression: Compression::Png,
        }
    }

    #[tokio::test]
    async fn a_crowd_of_images_of_one_tenant_delays_anothers_by_one_turn() {
        let bounds = Bounds {
            workers: 1,
            ..Bounds::default()
        };
        let pool = Arc::new(DecodePool::new(&bounds));
        let bytes = FairSemaphore::new(Units::new(1 << 40));
        let (open, gate) = mpsc::channel::<()>();
        let (done, order) = mpsc::channel();
        let mut gate = Some(gate);
        let mut jobs = JoinSet::new();
        for tenant in ["crowd"; 9].into_iter().chain(["single"]) {
            let (pool, done) = (Arc::clone(&pool), done.clone());
            // The first one has the only thread until the others wait.
            let gate = gate.take();
            let work = move |_: &Stop| {
                gate.iter().for_each(|gate| gate.recv().unwrap());
                done.send(tenant).unwrap();
                Ok(())
            };
            let permit = bytes.try_acquire(Flow::named(tenant), 0).unwrap();
            let running = async move { pool.run(&header(), work).await };
            jobs.spawn(Budget::of(&permit).scope(running));
        }
        while pool.workers.waiting() < 9 {
            yield_now().await;
        }
        open.send(()).unwrap();
        while let Some(job) = jobs.join_next().await {
            job.unwrap().unwrap();
        }
        let order: Vec<&str> = order.try_iter().collect();
        let single = order.iter().position(|tenant| *tenant == "single");
        assert!(single.is_some_and(|at| at <= 2), "{order:?}");
    }
}
