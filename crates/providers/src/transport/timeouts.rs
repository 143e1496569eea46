//! Timeouts of one exchange.

use std::time::Duration;

use majordomo_llm::Timer;

/// Timeouts of one exchange; `None` disables one. An expired timeout is named in
/// the error, as a [`majordomo_llm::Timer`].
///
/// `connect` and `write` apply to every exchange, `total` to buffered responses
/// only, the others to streamed ones only. The caller's deadline is not among them:
/// dropping the call enforces it.
///
/// ```
/// use std::time::Duration;
/// use majordomo_providers::transport::Timeouts;
///
/// let short_idle = Timeouts { idle: Some(Duration::from_secs(5)), ..Timeouts::default() };
/// assert_eq!(short_idle.total, Some(Duration::from_secs(600)));
/// assert_eq!(Timeouts::for_model_loading().total, None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// DNS, TCP and TLS together.
    pub connect: Option<Duration>,
    /// From the end of the request to the first byte of a streamed body, however
    /// early or slowly the head arrives.
    pub first_byte: Option<Duration>,
    /// From the end of the request to the first semantic event.
    pub first_event: Option<Duration>,
    /// Between two chunks of a streamed response.
    pub idle: Option<Duration>,
    /// Between two semantic events, if events are tracked: a server may send
    /// heartbeats for a model that is stuck.
    pub event_idle: Option<Duration>,
    /// Between two chunks of the request body (at most 256 KiB each) that the
    /// server accepts.
    pub write: Option<Duration>,
    /// A buffered response, from the call to the last byte.
    pub total: Option<Duration>,
}

impl Timeouts {
    /// For servers that load models on demand or queue requests: no limit on the
    /// start of a response or on a buffered response.
    pub const fn for_model_loading() -> Self {
        Self {
            first_byte: None,
            first_event: None,
            total: None,
            ..Self::DEFAULT
        }
    }

    /// Applies the timeouts set by a request.
    pub(crate) fn with_overrides(mut self, timers: &[(Timer, Duration)]) -> Self {
        for (timer, limit) in timers {
            let timeout = match timer {
                Timer::Connect => &mut self.connect,
                Timer::FirstByte => &mut self.first_byte,
                Timer::FirstEvent => &mut self.first_event,
                Timer::Idle => &mut self.idle,
                Timer::EventIdle => &mut self.event_idle,
                Timer::Write => &mut self.write,
                Timer::Total => &mut self.total,
            };
            *timeout = Some(*limit);
        }
        self
    }

    const DEFAULT: Self = Self {
        connect: Some(Duration::from_secs(5)),
        first_byte: Some(Duration::from_secs(60)),
        first_event: Some(Duration::from_secs(120)),
        idle: Some(Duration::from_secs(90)),
        event_idle: Some(Duration::from_secs(300)),
        write: Some(Duration::from_secs(30)),
        total: Some(Duration::from_secs(600)),
    };
}

impl Default for Timeouts {
    fn default() -> Self {
        Self::DEFAULT
    }
}
