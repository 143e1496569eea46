//! Returns the gateway's memory to the system after a burst.
//!
//! mimalloc releases pages shortly after they are free. But each thread looks only for its own
//! pages, once in ten thousand larger allocations, and after a burst no thread allocates. The
//! call that forces a release needs `unsafe`, so the allocations are made here, on every
//! worker of every runtime that handles requests.

use std::hint::black_box;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;

/// How often activity is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// Busy time per worker below which no sweep is worthwhile; a sweep itself takes less.
const MIN_BUSY: Duration = Duration::from_millis(3);
/// Sweeps after activity: the pages that one sweep finds are released by the next.
const SWEEPS: u32 = 4;
/// Tasks per worker, so that a quick worker leaves some to the others.
const TASKS: usize = 4;
/// Allocations of each task, in rounds between which other tasks run. The tasks of one
/// worker together reach the ten thousand.
const ROUNDS: usize = 3;
const ALLOCATIONS_PER_ROUND: usize = 1_000;
/// An allocation large enough for mimalloc to count.
const COUNTED_SIZE: usize = 2_048;

/// Sweeps after activity, on this runtime and on the gateway's heavy lane once it exists;
/// never returns.
pub(crate) async fn release_after_bursts(heavy: impl Fn() -> Option<Handle>) {
    let mut known = Duration::ZERO;
    let mut left = 0;
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        let runtimes: Vec<Handle> = [Some(Handle::current()), heavy()]
            .into_iter()
            .flatten()
            .collect();
        let workers: usize = runtimes.iter().map(workers).sum();
        let enough = (0..workers).map(|_| MIN_BUSY).sum::<Duration>();
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

/// Total busy time of all workers.
fn busy(runtimes: &[Handle]) -> Duration {
    let each = runtimes.iter().flat_map(|runtime| {
        let metrics = runtime.metrics();
        (0..workers(runtime)).map(move |worker| metrics.worker_total_busy_duration(worker))
    });
    each.sum()
}

async fn sweep(runtimes: &[Handle]) {
    let mut allocating = JoinSet::new();
    for runtime in runtimes {
        for _ in 0..TASKS * workers(runtime) {
            allocating.spawn_on(allocate(), runtime);
        }
    }
    // This task may run on a thread that is not a worker.
    for _ in 0..TASKS {
        allocate().await;
    }
    while allocating.join_next().await.is_some() {}
}

async fn allocate() {
    for _ in 0..ROUNDS {
        for _ in 0..ALLOCATIONS_PER_ROUND {
            drop(black_box(Vec::<u8>::with_capacity(COUNTED_SIZE)));
        }
        tokio::task::yield_now().await;
    }
}
