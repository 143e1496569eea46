//! The heavy lane: threads of their own for the CPU work of large bodies.
//!
//! Reading, planning, converting and writing a body of 32 MiB takes up to a second
//! of CPU, most of it in one poll. On the main runtime that would hold up every
//! connection of the same thread, health checks included. So such a request runs as
//! a task of a second runtime. Each of its polls enters the main runtime's context,
//! so its sockets, timers and tasks belong to drivers that are never blocked; only
//! the CPU time is spent here.
//!
//! Before each poll a task takes one of the lane's turns: half as many as there are
//! cores, shared between clients by deficit round robin. A turn lasts as long as its
//! poll, so bulky work has turns of its own: an image must not wait for the half
//! second of somebody's 32 MiB. Nobody holds a turn while waiting for anything, so
//! tasks of the lane may wait for each other and for the blocking pool. This knows
//! futures and flows, and nothing of requests. ADR 0036 has the figures.

mod job;
mod task;
#[cfg(test)]
mod tests;

use std::num::NonZero;
use std::sync::{Arc, OnceLock};

use majordomo_limits::{Bounds, Budget, FairSemaphore, Flow};
use tokio::runtime::{Builder, Handle, Runtime};

use job::Job;
use task::Task;

use crate::json_values::{self, HEAVY_VALUES};

/// Bodies above this size go to the lane. The costliest legal body takes less than
/// 30 ns of CPU per byte from its first byte to the last one of the upstream's
/// request, so everything below costs less than 2 ms.
pub(crate) const THRESHOLD: usize = 64 * 1024;

/// Bodies above this size are bulky. One of the usual images and conversations takes
/// less than 10 ms, and the costliest body of this size about 50.
const BULKY: usize = 2 * 1024 * 1024;

/// Runs heavy work of all requests.
pub(crate) struct Lane {
    main: Handle,
    turns: FairSemaphore,
    bulky_turns: FairSemaphore,
    threads: usize,
    /// Started with the first heavy work; none if the system gives no threads.
    runtime: OnceLock<Option<Runtime>>,
}

impl Lane {
    /// A lane beside the current runtime, whose threads start when they are needed.
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self::with_turns((cores / 2).max(1))
    }

    fn with_turns(turns: usize) -> Self {
        Self {
            main: Handle::current(),
            turns: FairSemaphore::new(Bounds::new(turns as u64)),
            bulky_turns: FairSemaphore::new(Bounds::new(turns as u64)),
            // While all turns are taken, one thread is left to queue up for the next:
            // else tasks would be polled in the order in which they were woken.
            threads: 2 * turns + 1,
            runtime: OnceLock::new(),
        }
    }

    /// Runs a client's work on so many bytes on the lane; dropping the job ends it.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        flow: Flow,
        bytes: usize,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Job<T> {
        // What it holds is charged to the same budget there.
        let work = Budget::carry(Budget::current(), work);
        let turns = match bytes {
            ..=BULKY => &self.turns,
            _ => &self.bulky_turns,
        };
        let task = Task::new(work, turns.clone(), flow, self.main.clone());
        let runtime = self.runtime.get_or_init(|| self.start());
        Job::new(match runtime {
            Some(runtime) => runtime.spawn(task),
            None => self.main.spawn(task),
        })
    }

    /// The lane's threads, once they run.
    pub(crate) fn threads(&self) -> Option<Handle> {
        let runtime = self.runtime.get()?.as_ref()?;
        Some(runtime.handle().clone())
    }

    fn start(&self) -> Option<Runtime> {
        // No drivers: sockets and timers are the main runtime's.
        let runtime = Builder::new_multi_thread()
            .worker_threads(self.threads)
            .thread_name("heavy")
            .build();
        runtime
            .inspect_err(|error| tracing::error!(reason = %error, "no threads for heavy work"))
            .ok()
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        // The last owner may be an async task, which must not wait for threads.
        if let Some(Some(runtime)) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// One request's way to the lane.
#[derive(Clone)]
pub(crate) struct Heavy {
    lane: Arc<Lane>,
    flow: Flow,
    threshold: usize,
    /// The length of the request's body.
    bytes: usize,
    /// The request runs on the lane as a whole.
    aboard: bool,
}

impl Heavy {
    /// For a request with this body: a large one, or one of many values, runs on the lane.
    pub(crate) fn new(lane: &Arc<Lane>, flow: Flow, body: &[u8], threshold: usize) -> Self {
        let bytes = body.len();
        let dense = || bytes > HEAVY_VALUES && json_values::upper_bound(body) > HEAVY_VALUES;
        Self {
            lane: Arc::clone(lane),
            flow,
            threshold,
            bytes,
            aboard: bytes > threshold || (threshold < usize::MAX && dense()),
        }
    }

    /// Whether the request as a whole belongs on the lane.
    pub(crate) fn is_aboard(&self) -> bool {
        self.aboard
    }

    /// Whether work on so many bytes has to move to the lane first.
    pub(crate) fn must_move(&self, bytes: usize) -> bool {
        !self.is_aboard() && bytes > self.threshold
    }

    /// Runs work on the request on the lane; dropping the job ends it.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Job<T> {
        self.spawn_on(self.bytes, work)
    }

    /// The same for work on so many bytes of something else.
    pub(crate) fn spawn_on<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Job<T> {
        self.lane.spawn(self.flow, bytes, work)
    }

    /// Drops something on the lane.
    pub(crate) fn drop_there(&self, value: impl Send + 'static) {
        self.spawn(async move { drop(value) }).detach();
    }
}
