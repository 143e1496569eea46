//! How long each part of an exchange may take.

use std::time::Duration;

use majordomo_llm::Timer;

/// The limits of one exchange; `None` is no limit. Each one that runs out names
/// itself in the error, as a [`majordomo_llm::Timer`].
///
/// A whole answer obeys `connect`, `write` and `total`; a stream obeys all but
/// `total`. The caller's own deadline is not here: dropping the call ends it.
///
/// ```
/// use std::time::Duration;
/// use majordomo_providers::transport::Timeouts;
///
/// let hurried = Timeouts { idle: Some(Duration::from_secs(5)), ..Timeouts::default() };
/// assert_eq!(hurried.total, Some(Duration::from_secs(600)));
/// assert_eq!(Timeouts::patient().total, None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Resolving, connecting and TLS together.
    pub connect: Option<Duration>,
    /// From the end of the request to the first byte of a streamed answer's
    /// body, however early its head came and however slowly it drips.
    pub first_byte: Option<Duration>,
    /// From the end of the request to the first event that carries something.
    pub first_event: Option<Duration>,
    /// Between two pieces of a streamed answer.
    pub idle: Option<Duration>,
    /// Between two events that carry something, where events are read: a server
    /// may keep a connection alive whose model is dead.
    pub event_idle: Option<Duration>,
    /// Between two pieces of the request that the server takes, 256 KiB at most.
    pub write: Option<Duration>,
    /// A whole answer, from the call to its last byte.
    pub total: Option<Duration>,
}

impl Timeouts {
    /// For servers that load models and keep queues: no limit until the answer
    /// begins, and none on a whole answer.
    pub const fn patient() -> Self {
        Self {
            first_byte: None,
            first_event: None,
            total: None,
            ..Self::STANDARD
        }
    }

    /// With the timers that a request sets for itself.
    pub(crate) fn with(mut self, timers: &[(Timer, Duration)]) -> Self {
        for (timer, limit) in timers {
            let place = match timer {
                Timer::Connect => &mut self.connect,
                Timer::FirstByte => &mut self.first_byte,
                Timer::FirstEvent => &mut self.first_event,
                Timer::Idle => &mut self.idle,
                Timer::EventIdle => &mut self.event_idle,
                Timer::Write => &mut self.write,
                Timer::Total => &mut self.total,
            };
            *place = Some(*limit);
        }
        self
    }

    const STANDARD: Self = Self {
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
        Self::STANDARD
    }
}
