//! Measures poll durations of the server's tasks in tests; a no-op otherwise.

pub(super) use imp::Polls;

#[cfg(not(test))]
mod imp {
    /// Measures nothing.
    #[derive(Clone, Default)]
    pub(crate) struct Polls {}

    impl Polls {
        pub(crate) fn watch<F: Future>(&self, task: F) -> F {
            task
        }
    }
}

#[cfg(test)]
mod imp {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use rustix::time::{ClockId, clock_gettime};

    /// The longest poll of the watched tasks, in thread CPU time, so preemption does
    /// not count.
    #[derive(Clone, Default)]
    pub(crate) struct Polls(Arc<AtomicU64>);

    impl Polls {
        pub(crate) fn watch<F: Future>(&self, task: F) -> impl Future<Output = F::Output> + use<F> {
            let longest = Arc::clone(&self.0);
            let mut task = Box::pin(task);
            std::future::poll_fn(move |cx| {
                let began = cpu_time();
                let polled = task.as_mut().poll(cx);
                let took = cpu_time().saturating_sub(began).as_nanos();
                longest.fetch_max(u64::try_from(took).unwrap_or(u64::MAX), Ordering::Relaxed);
                polled
            })
        }

        /// Returns the longest poll and resets it.
        pub(crate) fn take_longest(&self) -> Duration {
            Duration::from_nanos(self.0.swap(0, Ordering::Relaxed))
        }
    }

    fn cpu_time() -> Duration {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
    }
}
