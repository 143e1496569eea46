//! The running timers of one exchange: several deadlines, one `Sleep`.
//!
//! Progress only stores a new deadline. The `Sleep` is reset when it fires early or
//! a nearer deadline appears, so that a stream of many small chunks does not touch
//! the timer wheel.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use majordomo_llm::Timer;
use tokio::time::{Instant, Sleep, sleep_until};

use super::Timeouts;

/// How the response is consumed, which selects the timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseMode {
    /// Collected in memory.
    Buffered,
    /// Delivered as it arrives.
    Streamed,
}

pub(crate) struct Timers {
    limits: Timeouts,
    mode: ResponseMode,
    write: Option<Instant>,
    first_byte: Option<Instant>,
    first_event: Option<Instant>,
    idle: Option<Instant>,
    event_idle: Option<Instant>,
    /// Whether the caller reports semantic events.
    tracks_events: bool,
    total: Option<Instant>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timers {
    /// Starts the total timer of a buffered response; a streamed one has none.
    pub(crate) fn start(limits: Timeouts, mode: ResponseMode) -> Self {
        let total = match mode {
            ResponseMode::Buffered => deadline(limits.total),
            ResponseMode::Streamed => None,
        };
        Self {
            limits,
            mode,
            write: None,
            first_byte: None,
            first_event: None,
            idle: None,
            event_idle: None,
            tracks_events: false,
            total,
            sleep: None,
        }
    }

    pub(crate) fn limits(&self) -> &Timeouts {
        &self.limits
    }

    /// The upload started or made progress at `last`.
    pub(crate) fn writing(&mut self, last: Instant) {
        self.write = self.limits.write.and_then(|limit| last.checked_add(limit));
    }

    /// The whole request was sent: the server's timers start.
    pub(crate) fn written(&mut self) {
        self.write = None;
        if self.mode == ResponseMode::Streamed {
            self.first_byte = deadline(self.limits.first_byte);
            self.first_event = deadline(self.limits.first_event);
        }
    }

    /// A chunk of the response arrived.
    pub(crate) fn received(&mut self) {
        if self.mode == ResponseMode::Streamed {
            self.first_byte = None;
            self.idle = deadline(self.limits.idle);
        }
    }

    /// The caller will report every semantic event.
    pub(crate) fn track_events(&mut self) {
        self.tracks_events = true;
    }

    /// A semantic event arrived.
    pub(crate) fn event_received(&mut self) {
        self.first_event = None;
        if self.tracks_events {
            self.event_idle = deadline(self.limits.event_idle);
        }
    }

    /// Replaces all timers by one `limit` for the rest of the response.
    pub(crate) fn finish_within(&mut self, limit: Duration) {
        self.mode = ResponseMode::Buffered;
        self.write = None;
        self.first_byte = None;
        self.first_event = None;
        self.idle = None;
        self.event_idle = None;
        self.total = deadline(Some(limit));
    }

    /// Resolves to the timer that expired.
    pub(crate) fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<Timer> {
        loop {
            let Some((at, timer)) = self.nearest() else {
                return Poll::Pending;
            };
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(at)));
            if sleep.deadline() > at {
                sleep.as_mut().reset(at);
            }
            ready!(sleep.as_mut().poll(cx));
            if sleep.deadline() == at {
                return Poll::Ready(timer);
            }
            sleep.as_mut().reset(at);
        }
    }

    fn nearest(&self) -> Option<(Instant, Timer)> {
        [
            (self.write, Timer::Write),
            (self.first_byte, Timer::FirstByte),
            (self.first_event, Timer::FirstEvent),
            (self.idle, Timer::Idle),
            (self.event_idle, Timer::EventIdle),
            (self.total, Timer::Total),
        ]
        .into_iter()
        .filter_map(|(at, timer)| Some((at?, timer)))
        .min_by_key(|(at, _)| *at)
    }
}

/// The deadline; none if it exceeds the range of `Instant`.
fn deadline(limit: Option<Duration>) -> Option<Instant> {
    Instant::now().checked_add(limit?)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    fn limits() -> Timeouts {
        Timeouts::default()
    }

    async fn expired(timers: &mut Timers) -> (Timer, Duration) {
        let began = Instant::now();
        let timer = poll_fn(|cx| timers.poll_expired(cx)).await;
        (timer, began.elapsed().max(Duration::ZERO))
    }

    fn seconds(elapsed: Duration) -> u64 {
        elapsed.as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_byte_timer_starts_at_the_end_of_the_request() {
        let mut timers = Timers::start(limits(), ResponseMode::Streamed);
        timers.writing(Instant::now());
        tokio::time::advance(Duration::from_secs(20)).await;
        timers.written();
        let (timer, waited) = expired(&mut timers).await;
        assert_eq!((timer, seconds(waited)), (Timer::FirstByte, 60));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stalled_upload_expires_the_write_timer() {
        let mut timers = Timers::start(limits(), ResponseMode::Buffered);
        timers.writing(Instant::now());
        tokio::time::advance(Duration::from_secs(29)).await;
        timers.writing(Instant::now());
        let (timer, waited) = expired(&mut timers).await;
        assert_eq!((timer, seconds(waited)), (Timer::Write, 30));
    }

    #[tokio::test(start_paused = true)]
    async fn every_chunk_restarts_the_idle_timer() {
        let mut timers = Timers::start(limits(), ResponseMode::Streamed);
        timers.written();
        timers.event_received();
        for _ in 0..10 {
            timers.received();
            tokio::time::advance(Duration::from_secs(80)).await;
            let pending = poll_fn(|cx| Poll::Ready(timers.poll_expired(cx).is_pending()));
            assert!(pending.await);
        }
        timers.received();
        let (timer, waited) = expired(&mut timers).await;
        assert_eq!((timer, seconds(waited)), (Timer::Idle, 90));
    }

    #[tokio::test(start_paused = true)]
    async fn chunks_without_an_event_expire_the_first_event_timer() {
        let mut timers = Timers::start(limits(), ResponseMode::Streamed);
        timers.written();
        timers.received();
        tokio::time::advance(Duration::from_secs(60)).await;
        timers.received();
        let (timer, waited) = expired(&mut timers).await;
        assert_eq!((timer, seconds(waited)), (Timer::FirstEvent, 60));
    }

    #[tokio::test(start_paused = true)]
    async fn chunks_without_a_further_event_expire_the_event_idle_timer() {
        let mut timers = Timers::start(limits(), ResponseMode::Streamed);
        timers.track_events();
        timers.written();
        for _ in 0..2 {
            timers.event_received();
            for _ in 0..4 {
                timers.received();
                tokio::time::advance(Duration::from_secs(60)).await;
            }
        }
        timers.received();
        let (timer, waited) = expired(&mut timers).await;
        assert_eq!((timer, seconds(waited)), (Timer::EventIdle, 60));
    }

    #[tokio::test(start_paused = true)]
    async fn without_event_tracking_there_is_no_event_idle_timer() {
        let mut timers = Timers::start(limits(), ResponseMode::Streamed);
        timers.written();
        timers.event_received();
        for _ in 0..10 {
            timers.received();
            tokio::time::advance(Duration::from_secs(60)).await;
        }
        let (timer, _) = expired(&mut timers).await;
        assert_eq!(timer, Timer::Idle);
    }

    #[tokio::test(start_paused = true)]
    async fn a_buffered_response_has_only_the_total_timer_after_the_upload() {
        let mut timers = Timers::start(limits(), ResponseMode::Buffered);
        timers.writing(Instant::now());
        timers.written();
        timers.received();
        let (timer, waited) = expired(&mut timers).await;
        assert_eq!((timer, seconds(waited)), (Timer::Total, 600));
    }

    #[tokio::test(start_paused = true)]
    async fn a_model_loading_stream_waits_indefinitely_for_its_first_byte() {
        let mut timers = Timers::start(Timeouts::for_model_loading(), ResponseMode::Streamed);
        timers.written();
        let forever = poll_fn(|cx| timers.poll_expired(cx));
        let waited = tokio::time::timeout(Duration::from_secs(86_400), forever).await;
        assert!(waited.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_beyond_the_range_of_the_clock_is_ignored() {
        let far = Timeouts {
            total: Some(Duration::MAX),
            ..limits()
        };
        let timers = Timers::start(far, ResponseMode::Buffered);
        assert!(timers.nearest().is_none());
    }
}
