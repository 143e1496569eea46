//! Schedules keep-alives of a silent stream.
//!
//! Output only moves the due time, with an atomic store; the timer is reset when it fires
//! early. So a stream of many small chunks does not touch the timer wheel.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

pub(super) struct KeepAlive {
    every: Duration,
    due: Instant,
    timer: Pin<Box<Sleep>>,
}

impl KeepAlive {
    /// First due after `every`, then repeatedly.
    pub(super) fn new(every: Duration) -> Self {
        Self::first_at(Instant::now() + every, every)
    }

    /// First due now.
    pub(super) fn due(every: Duration) -> Self {
        Self::first_at(Instant::now(), every)
    }

    fn first_at(due: Instant, every: Duration) -> Self {
        Self {
            every,
            due,
            timer: Box::pin(sleep_until(due)),
        }
    }

    /// Records output: postpones the next keep-alive.
    pub(super) fn record_output(&mut self) {
        self.due = Instant::now() + self.every;
    }

    /// Ready when a keep-alive is due; rearms itself.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.timer.as_mut().poll(cx));
            let over = self.timer.deadline() >= self.due;
            if over {
                self.record_output();
            }
            self.timer.as_mut().reset(self.due);
            if over {
                // Register the new deadline with the task.
                let _ = self.timer.as_mut().poll(cx);
                return Poll::Ready(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::time::advance;

    use super::*;

    const EVERY: Duration = Duration::from_secs(15);

    async fn wait(keep_alive: &mut KeepAlive) -> u64 {
        let began = Instant::now();
        poll_fn(|cx| keep_alive.poll(cx)).await;
        began.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn keep_alives_repeat_during_silence() {
        let mut keep_alive = KeepAlive::new(EVERY);
        for _ in 0..3 {
            assert_eq!(wait(&mut keep_alive).await, 15);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_due_keep_alive_fires_immediately() {
        let mut keep_alive = KeepAlive::due(EVERY);
        assert_eq!(wait(&mut keep_alive).await, 0);
        assert_eq!(wait(&mut keep_alive).await, 15);
    }

    #[tokio::test(start_paused = true)]
    async fn output_postpones_the_next_keep_alive() {
        let mut keep_alive = KeepAlive::new(EVERY);
        for _ in 0..3 {
            advance(Duration::from_secs(10)).await;
            let silent = poll_fn(|cx| Poll::Ready(keep_alive.poll(cx).is_pending()));
            assert!(silent.await);
            keep_alive.record_output();
        }
        assert_eq!(wait(&mut keep_alive).await, 15);
    }
}
