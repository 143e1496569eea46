//! The running timers of one exchange: several deadlines, one sleep.
//!
//! Progress only moves a deadline, which is a store. The sleep is touched when
//! it fires too early or a nearer deadline appears, so that a stream of many
//! small pieces costs the timer wheel nothing.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use majordomo_llm::Timer;
use tokio::time::{Instant, Sleep, sleep_until};

use super::Timeouts;

/// Which timers an exchange obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The answer is wanted in one piece.
    Whole,
    /// The answer is wanted as it comes.
    Stream,
}

pub(crate) struct Timers {
    limits: Timeouts,
    kind: Kind,
    write: Option<Instant>,
    first_byte: Option<Instant>,
    first_event: Option<Instant>,
    idle: Option<Instant>,
    event_idle: Option<Instant>,
    /// Whether somebody says when events come.
    events_told: bool,
    total: Option<Instant>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timers {
    /// Starts the clock of a whole answer; a stream has none.
    pub(crate) fn start(limits: Timeouts, kind: Kind) -> Self {
        let total = match kind {
            Kind::Whole => after(limits.total),
            Kind::Stream => None,
        };
        Self {
            limits,
            kind,
            write: None,
            first_byte: None,
            first_event: None,
            idle: None,
            event_idle: None,
            events_told: false,
            total,
            sleep: None,
        }
    }

    pub(crate) fn limits(&self) -> &Timeouts {
        &self.limits
    }

    /// The server took a piece of the request, or the request began, at `last`.
    pub(crate) fn writing(&mut self, last: Instant) {
        self.write = self.limits.write.and_then(|limit| last.checked_add(limit));
    }

    /// The request has left: from now on it is the server's turn.
    pub(crate) fn written(&mut self) {
        self.write = None;
        if self.kind == Kind::Stream {
            self.first_byte = after(self.limits.first_byte);
            self.first_event = after(self.limits.first_event);
        }
    }

    /// A piece of the answer came.
    pub(crate) fn received(&mut self) {
        if self.kind == Kind::Stream {
            self.first_byte = None;
            self.idle = after(self.limits.idle);
        }
    }

    /// Whoever reads the stream will tell of every event that carries something.
    pub(crate) fn events_will_be_told(&mut self) {
        self.events_told = true;
    }

    /// An event that carries something came.
    pub(crate) fn event_seen(&mut self) {
        self.first_event = None;
        if self.events_told {
            self.event_idle = after(self.limits.event_idle);
        }
    }

    /// Forgets every timer and allows `limit` for what is left of the answer.
    pub(crate) fn finish_within(&mut self, limit: Duration) {
        self.kind = Kind::Whole;
        self.write = None;
        self.first_byte = None;
        self.first_event = None;
        self.idle = None;
        self.event_idle = None;
        self.total = after(Some(limit));
    }

    /// Ready with the timer that ran out.
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

/// A limit too far away to be an instant is no limit.
fn after(limit: Option<Duration>) -> Option<Instant> {
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
    async fn a_stream_waits_for_the_first_byte_from_the_end_of_the_request() {
        let mut timers = Timers::start(limits(), Kind::Stream);
        timers.writing(Instant::now());
        tokio::time::advance(Duration::from_secs(20)).await;
        timers.written();
        let (timer, waited) = expired(&mut timers).await;
        assert_eq!((timer, seconds(waited)), (Timer::FirstByte, 60));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_the_server_stops_taking_runs_into_the_write_timer() {
        let mut timers = Timers::start(limits(), Kind::Whole);
        timers.writing(Instant::now());
        tokio::time::advance(Duration::from_secs(29)).await;
        timers.writing(Instant::now());
        let (timer, waited) = expired(&mut timers).await;
        assert_eq!((timer, seconds(waited)), (Timer::Write, 30));
    }

    #[tokio::test(start_paused = true)]
    async fn every_piece_gives_the_idle_timer_a_new_start() {
        let mut timers = Timers::start(limits(), Kind::Stream);
        timers.written();
        timers.event_seen();
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
    async fn pieces_without_an_event_run_into_the_first_event_timer() {
        let mut timers = Timers::start(limits(), Kind::Stream);
        timers.written();
        timers.received();
        tokio::time::advance(Duration::from_secs(60)).await;
        timers.received();
        let (timer, waited) = expired(&mut timers).await;
        assert_eq!((timer, seconds(waited)), (Timer::FirstEvent, 60));
    }

    #[tokio::test(start_paused = true)]
    async fn pieces_without_a_further_event_run_into_the_event_idle_timer() {
        let mut timers = Timers::start(limits(), Kind::Stream);
        timers.events_will_be_told();
        timers.written();
        for _ in 0..2 {
            timers.event_seen();
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
    async fn a_stream_that_is_passed_on_unread_has_no_event_idle_timer() {
        let mut timers = Timers::start(limits(), Kind::Stream);
        timers.written();
        timers.event_seen();
        for _ in 0..10 {
            timers.received();
            tokio::time::advance(Duration::from_secs(60)).await;
        }
        let (timer, _) = expired(&mut timers).await;
        assert_eq!(timer, Timer::Idle);
    }

    #[tokio::test(start_paused = true)]
    async fn a_whole_answer_has_only_the_total_once_the_request_has_left() {
        let mut timers = Timers::start(limits(), Kind::Whole);
        timers.writing(Instant::now());
        timers.written();
        timers.received();
        let (timer, waited) = expired(&mut timers).await;
        assert_eq!((timer, seconds(waited)), (Timer::Total, 600));
    }

    #[tokio::test(start_paused = true)]
    async fn a_patient_stream_waits_for_its_first_byte_without_end() {
        let mut timers = Timers::start(Timeouts::patient(), Kind::Stream);
        timers.written();
        let forever = poll_fn(|cx| timers.poll_expired(cx));
        let waited = tokio::time::timeout(Duration::from_secs(86_400), forever).await;
        assert!(waited.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_beyond_the_clock_is_no_limit() {
        let far = Timeouts {
            total: Some(Duration::MAX),
            ..limits()
        };
        let timers = Timers::start(far, Kind::Whole);
        assert!(timers.nearest().is_none());
    }
}
