//! The gateway's memory after a burst: given back to the system.
//!
//! Our allocator gives pages back a moment after they are free. But each thread
//! looks for its own, only once in ten thousand larger requests, and after a burst
//! nobody requests. Its call for it would need `unsafe`, so the requests are made
//! here, on every worker of every runtime that works on requests.

use std::hint::black_box;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;

/// How often is looked whether there was work.
const PERIOD: Duration = Duration::from_secs(2);
/// Less work than this of each worker leaves nothing worth looking for; a sweep
/// itself is less.
const WORK: Duration = Duration::from_millis(3);
/// After work there are so many sweeps: what one finds is given back by the next.
const SWEEPS: u32 = 4;
/// Tasks for each worker, so that a quick one leaves some to the others.
const TASKS: usize = 4;
/// Requests of each task, in rounds between which others have their turn. All the
/// tasks of one worker together reach the ten thousand.
const ROUNDS: usize = 3;
const ROUND: usize = 1_000;
/// A size that the allocator counts: smaller ones have a way of their own.
const COUNTED: usize = 2_048;

/// Sweeps after every stretch of work, here and on the gateway's heavy threads once
/// there are any; never ends.
pub(crate) async fn give_back(heavy: impl Fn() -> Option<Handle>) {
    let mut known = Duration::ZERO;
    let mut left = 0;
    loop {
        tokio::time::sleep(PERIOD).await;
        let runtimes: Vec<Handle> = [Some(Handle::current()), heavy()]
            .into_iter()
            .flatten()
            .collect();
        let workers: usize = runtimes.iter().map(workers).sum();
        let enough = (0..workers).map(|_| WORK).sum::<Duration>();
        if busy(&runtimes) > known + enough {
            left = SWEEPS;
        }
        if left > 0 {
            left -= 1;
            sweep(&runtimes).await;
        }
        known = busy(&runtimes);
    }
}

fn workers(runtime: &Handle) -> usize {
    runtime.metrics().num_workers()
}

/// For how long all workers together have worked.
fn busy(runtimes: &[Handle]) -> Duration {
    let each = runtimes.iter().flat_map(|runtime| {
        let metrics = runtime.metrics();
        (0..workers(runtime)).map(move |worker| metrics.worker_total_busy_duration(worker))
    });
    each.sum()
}

async fn sweep(runtimes: &[Handle]) {
    let mut asking = JoinSet::new();
    for runtime in runtimes {
        for _ in 0..TASKS * workers(runtime) {
            asking.spawn_on(ask_for_memory(), runtime);
        }
    }
    // This task may be polled by a thread that is no worker.
    for _ in 0..TASKS {
        ask_for_memory().await;
    }
    while asking.join_next().await.is_some() {}
}

async fn ask_for_memory() {
    for _ in 0..ROUNDS {
        for _ in 0..ROUND {
            drop(black_box(Vec::<u8>::with_capacity(COUNTED)));
        }
        tokio::task::yield_now().await;
    }
}
