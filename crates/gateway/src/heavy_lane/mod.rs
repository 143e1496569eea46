//! The heavy lane: dedicated threads for the CPU work of large bodies.
//!
//! Decoding, planning, converting and encoding a body of 32 MiB takes up to a second of
//! CPU, most of it in one poll. On the main runtime that would block every connection
//! of the same thread, health checks included. So such a request runs as a task of a
//! second runtime. Each of its polls enters the main runtime's context, so its sockets,
//! timers and tasks belong to drivers that are never blocked; only the CPU time is
//! spent here.
//!
//! Before each poll a task acquires a turn. There are half as many as cores, shared
//! between clients by deficit round robin. A turn lasts as long as its poll, so bulky
//! work has separate turns: an image must not wait for half a second of another
//! client's 32 MiB. No task holds a turn while it waits, so tasks of the lane may wait
//! for each other and for the blocking pool. Knows futures and flows, not requests; may
//! use `json_values`. ADR 0036 has the measurements.

mod job;
mod task;
#[cfg(test)]
mod tests;

use std::num::NonZero;
use std::sync::{Arc, OnceLock};

use majordomo_limits::{Bounds, Budget, FairSemaphore, Flow};
use tokio::runtime::{Builder, Handle, Runtime};

pub(crate) use job::LaneJob;
use task::LaneTask;

use crate::json_values::{ByteCounts, HEAVY_VALUES};

/// Bodies above this size move to the lane, unless they are [`is_light`]. The costliest
/// valid body takes less than 30 ns of CPU per byte, from its first byte to the last of the
/// upstream request, so everything below costs less than 2 ms.
pub(crate) const THRESHOLD: usize = 64 * 1024;
/// The time for a byte of the costliest body.
const COSTLIEST_NS: usize = 30;
/// Light bodies have at most this many times the threshold.
const LIGHT: usize = 4;

/// Bodies above this size are bulky. Typical images and conversations of this size take
/// less than 10 ms, the costliest body about 50.
const BULKY: usize = 2 * 1024 * 1024;

/// Runs the heavy work of all requests.
pub(crate) struct HeavyLane {
    main: Handle,
    turns: FairSemaphore,
    bulky_turns: FairSemaphore,
    threads: usize,
    /// Started with the first heavy work; none if the threads cannot be created.
    runtime: OnceLock<Option<Runtime>>,
}

impl HeavyLane {
    /// A lane next to the current runtime; its threads start on demand.
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self::with_turns((cores / 2).max(1))
    }

    fn with_turns(turns: usize) -> Self {
        Self {
            main: Handle::current(),
            turns: FairSemaphore::new(Bounds::new(turns as u64)),
            bulky_turns: FairSemaphore::new(Bounds::new(turns as u64)),
            // While all turns are taken, one thread is left to enqueue for the next:
            // otherwise tasks would be polled in wake order.
            threads: 2 * turns + 1,
            runtime: OnceLock::new(),
        }
    }

    /// Runs a client's work on `bytes` bytes; dropping the job cancels it.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        flow: Flow,
        bytes: usize,
        work: impl Future<Output = T> + Send + 'static,
    ) -> LaneJob<T> {
        // Memory is charged to the same budget there.
        let work = Budget::carry(Budget::current(), work);
        let turns = match bytes {
            ..=BULKY => &self.turns,
            _ => &self.bulky_turns,
        };
        let task = LaneTask::new(work, turns.clone(), flow, self.main.clone());
        let runtime = self.runtime.get_or_init(|| self.start());
        LaneJob::new(match runtime {
            Some(runtime) => runtime.spawn(task),
            None => self.main.spawn(task),
        })
    }

    /// The lane's runtime, once started.
    pub(crate) fn threads(&self) -> Option<Handle> {
        let runtime = self.runtime.get()?.as_ref()?;
        Some(runtime.handle().clone())
    }

    fn start(&self) -> Option<Runtime> {
        // No drivers: sockets and timers belong to the main runtime.
        let runtime = Builder::new_multi_thread()
            .worker_threads(self.threads)
            .thread_name("heavy")
            .build();
        runtime
            .inspect_err(
                |error| tracing::error!(reason = %error, "cannot start the threads for heavy work"),
            )
            .ok()
    }
}

impl Drop for HeavyLane {
    fn drop(&mut self) {
        // The last owner may be an async task, which must not block.
        if let Some(Some(runtime)) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Whether a body above the threshold takes no longer than the costliest body below it: a
/// coding agent's request is mostly text, and changing threads would cost more than decoding
/// it.
fn is_light(body: &[u8], threshold: usize) -> bool {
    if body.len() > threshold.saturating_mul(LIGHT) {
        return false;
    }
    let counts = ByteCounts::of(body);
    counts.is_prose() && counts.nanoseconds() <= threshold.saturating_mul(COSTLIEST_NS)
}

/// One request's handle to the lane.
#[derive(Clone)]
pub(crate) struct LaneHandle {
    lane: Arc<HeavyLane>,
    flow: Flow,
    threshold: usize,
    /// Length of the request's body.
    bytes: usize,
    /// Whether the whole request runs on the lane.
    on_lane: bool,
}

impl LaneHandle {
    /// The handle for a request with this body: a large body that is not light, or one with
    /// many values, runs on the lane.
    pub(crate) fn new(lane: &Arc<HeavyLane>, flow: Flow, body: &[u8], threshold: usize) -> Self {
        let bytes = body.len();
        let dense = || bytes > HEAVY_VALUES && ByteCounts::of(body).values() > HEAVY_VALUES;
        let heavy = match bytes > threshold {
            true => !is_light(body, threshold),
            false => threshold < usize::MAX && dense(),
        };
        Self {
            lane: Arc::clone(lane),
            flow,
            threshold,
            bytes,
            on_lane: heavy,
        }
    }

    /// Whether the whole request runs on the lane.
    pub(crate) fn runs_on_lane(&self) -> bool {
        self.on_lane
    }

    /// Whether work on `bytes` bytes must move to the lane first.
    pub(crate) fn must_move(&self, bytes: usize) -> bool {
        !self.runs_on_lane() && bytes > self.threshold
    }

    /// Runs work on the request's body; dropping the job cancels it.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> LaneJob<T> {
        self.spawn_on(self.bytes, work)
    }

    /// Like [`spawn`](Self::spawn), for work on other bytes.
    pub(crate) fn spawn_on<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl Future<Output = T> + Send + 'static,
    ) -> LaneJob<T> {
        self.lane.spawn(self.flow, bytes, work)
    }

    /// Drops a value on the lane.
    pub(crate) fn drop_on_lane(&self, value: impl Send + 'static) {
        self.spawn(async move { drop(value) }).detach();
    }
}
