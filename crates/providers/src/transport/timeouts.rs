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
/// let short_idle = Timeouts::default().with_idle(Duration::from_secs(5));
/// assert_eq!(short_idle.total, Some(Duration::from_secs(600)));
/// assert_eq!(Timeouts::for_model_loading().total, None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Sets the timeout of DNS, TCP and TLS together.
    #[must_use]
    pub fn with_connect(mut self, connect: impl Into<Option<Duration>>) -> Self {
        self.connect = connect.into();
        self
    }

    /// Sets the timeout of the first byte.
    #[must_use]
    pub fn with_first_byte(mut self, first_byte: impl Into<Option<Duration>>) -> Self {
        self.first_byte = first_byte.into();
        self
    }

    /// Sets the timeout of the first semantic event.
    #[must_use]
    pub fn with_first_event(mut self, first_event: impl Into<Option<Duration>>) -> Self {
        self.first_event = first_event.into();
        self
    }

    /// Sets the timeout between two chunks.
    #[must_use]
    pub fn with_idle(mut self, idle: impl Into<Option<Duration>>) -> Self {
        self.idle = idle.into();
        self
    }

    /// Sets the timeout between two semantic events.
    #[must_use]
    pub fn with_event_idle(mut self, event_idle: impl Into<Option<Duration>>) -> Self {
        self.event_idle = event_idle.into();
        self
    }

    /// Sets the timeout between two chunks of the request body.
    #[must_use]
    pub fn with_write(mut self, write: impl Into<Option<Duration>>) -> Self {
        self.write = write.into();
        self
    }

    /// Sets the timeout of a buffered response.
    #[must_use]
    pub fn with_total(mut self, total: impl Into<Option<Duration>>) -> Self {
        self.total = total.into();
        self
    }

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

    /// For attempts that must begin to respond, or respond as a whole, within `longest`.
    pub const fn within(longest: Duration) -> Self {
        Self {
            first_byte: Some(longest),
            first_event: Some(longest),
            total: Some(longest),
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
