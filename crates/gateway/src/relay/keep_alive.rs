//! When a silent stream must show that it is alive.
//!
//! What goes out only moves the time, which is a store; the timer is touched when
//! it fires too early. So a stream of many small pieces costs its wheel nothing.

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
    /// The first sign is due after this long, and so is each that follows.
    pub(super) fn new(every: Duration) -> Self {
        Self::first_at(Instant::now() + every, every)
    }

    /// The first sign is due now.
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

    /// Something went out: no sign is needed for a while.
    pub(super) fn said(&mut self) {
        self.due = Instant::now() + self.every;
    }

    /// Ready when a sign is due; the next one is due after the same time again.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.timer.as_mut().poll(cx));
            let over = self.timer.deadline() >= self.due;
            if over {
                self.said();
            }
            self.timer.as_mut().reset(self.due);
            if over {
                // The new time must be known to the task.
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

    async fn sign(keep_alive: &mut KeepAlive) -> u64 {
        let began = Instant::now();
        poll_fn(|cx| keep_alive.poll(cx)).await;
        began.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_broken_again_and_again() {
        let mut keep_alive = KeepAlive::new(EVERY);
        for _ in 0..3 {
            assert_eq!(sign(&mut keep_alive).await, 15);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_waited_hears_a_sign_at_once() {
        let mut keep_alive = KeepAlive::due(EVERY);
        assert_eq!(sign(&mut keep_alive).await, 0);
        assert_eq!(sign(&mut keep_alive).await, 15);
    }

    #[tokio::test(start_paused = true)]
    async fn what_goes_out_puts_the_next_sign_off() {
        let mut keep_alive = KeepAlive::new(EVERY);
        for _ in 0..3 {
            advance(Duration::from_secs(10)).await;
            let silent = poll_fn(|cx| Poll::Ready(keep_alive.poll(cx).is_pending()));
            assert!(silent.await);
            keep_alive.said();
        }
        assert_eq!(sign(&mut keep_alive).await, 15);
    }
}
