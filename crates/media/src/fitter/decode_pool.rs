//! The bounded pool of blocking threads.
//!
//! Work holds a thread permit and its memory permits until the thread ends. A stuck thread
//! keeps both, so a pool of stuck threads refuses work instead of queueing it.

use std::time::Duration;

use bytes::Bytes;
use majordomo_codecs::Job;
use majordomo_limits::{Bounds as Units, Charge, FairSemaphore, Flow, Permit};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::decoded_cache::ContentHash;
use crate::{Bounds, Problem, Stop};

/// Bytes per memory permit.
const PERMIT_BYTES: u64 = 1 << 20;
/// DRR quantum of a tenant, in memory permits: a typical photo.
const QUANTUM: u64 = 32;
/// Hashing this much takes less time than a thread switch.
const INLINE_HASH_BYTES: usize = 64 << 10;

pub(super) struct DecodePool {
    workers: FairSemaphore,
    memory: FairSemaphore,
    permits: u64,
    max_decoded: u64,
    max_time: Duration,
    max_wait: Duration,
}

impl DecodePool {
    pub(super) fn new(bounds: &Bounds) -> Self {
        let permits = bounds.max_decoding.div_ceil(PERMIT_BYTES);
        Self {
            workers: FairSemaphore::new(Units::new(bounds.workers.max(1) as u64)),
            memory: FairSemaphore::new(Units::new(permits).quantum(QUANTUM)),
            permits,
            max_decoded: bounds.max_decoded,
            max_time: bounds.max_time,
            max_wait: bounds.max_wait,
        }
    }

    /// The hash of encoded bytes.
    pub(super) async fn hash(&self, data: &Bytes) -> Result<ContentHash, Problem> {
        let hash = |data: &[u8]| *blake3::hash(data).as_bytes();
        if data.len() <= INLINE_HASH_BYTES {
            return Ok(hash(data));
        }
        let data = data.clone();
        spawn_blocking(move || hash(&data))
            .await
            .map_err(|_| Problem::DecoderFailed)
    }

    /// Runs work that needs about this many bytes on a blocking thread; stops it on timeout or
    /// cancellation.
    pub(super) async fn run<T, F>(&self, needed: u64, work: F) -> Result<T, Problem>
    where
        T: Send + 'static,
        F: FnOnce(&Job) -> Result<T, Problem> + Send + 'static,
    {
        let admitted = timeout(self.max_wait, self.admit(needed))
            .await
            .map_err(|_| Problem::Busy)??;
        let stop = StopOnDrop(Stop::new());
        let job = Job::new(stop.0.clone(), self.max_decoded);
        let thread = spawn_blocking(move || {
            let result = work(&job);
            drop(admitted);
            result
        });
        match timeout(self.max_time, thread).await {
            Ok(Ok(result)) => result,
            Ok(Err(_panicked)) => Err(Problem::DecoderFailed),
            Err(_elapsed) => Err(Problem::Stopped),
        }
    }

    /// Acquires memory, then a thread, fairly among tenants. Pixels are also charged to the
    /// request's budget, if it has one. The thread comes last: no task waits while holding
    /// one.
    async fn admit(&self, needed: u64) -> Result<(Permit, Charge, Permit), Problem> {
        let flow = Flow::current();
        let permits = needed.div_ceil(PERMIT_BYTES).min(self.permits);
        let busy = |_| Problem::Busy;
        let memory = self.memory.acquire(flow, permits).await.map_err(busy)?;
        let mut charge = Charge::begin();
        charge.wait_for(needed).await;
        let worker = self.workers.acquire(flow, 1).await.map_err(busy)?;
        Ok((worker, charge, memory))
    }
}

/// Sets the flag when the waiting future is dropped or done.
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
    #[tokio::test]
    async fn many_images_of_one_tenant_delay_another_tenant_by_one_turn() {
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
            // The first one holds the only thread until the others wait.
            let gate = gate.take();
            let work = move |_: &Job| {
                gate.iter().for_each(|gate| gate.recv().unwrap());
                done.send(tenant).unwrap();
                Ok(())
            };
            let permit = bytes.try_acquire(Flow::named(tenant), 0).unwrap();
            let running = async move { pool.run(1, work).await };
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
