//! The kinds of failure, as they are observed; `classify` interprets them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What failed. [`Error::class`](crate::Error::class) interprets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The connection could not be established.
    Connect,
    /// The host name could not be resolved.
    Dns,
    /// The server's certificate is not trusted or does not match the host.
    Tls,
    /// The connection was lost.
    ConnectionLost,
    /// A pooled connection was closed before any byte of the request was sent.
    NeverSent,
    /// One of the attempt's timers expired.
    Timeout(Timer),
    /// The provider returned an error, described by status and code.
    Provider,
    /// The response could not be decoded.
    BadResponse,
    /// The response ended without its terminator.
    Truncated,
    /// The response has no content.
    Empty,
    /// The caller's [`Accept`](crate::Accept) hook rejected the response.
    Refused,
    /// The target does not support the request.
    Unsupported,
    /// The provider does not have this model.
    ModelNotFound,
    /// The request does not fit the target's context window.
    ContextLength,
    /// No key is configured for the provider.
    MissingKey,
    /// A gate refused every attempt, such as a budget that is spent; nothing was sent.
    Denied,
    /// The request was cancelled.
    Cancelled,
    /// The caller's deadline passed.
    Deadline,
    /// The spec, alias, DSN or provider name is invalid.
    Spec,
    /// No target of the chain could serve the request.
    Exhausted,
    /// This process lacks the memory or the threads for the request at the moment; no target
    /// is at fault.
    Overloaded,
    /// A failure on this side, such as a processor that panicked.
    Internal,
    /// The target's concurrency limit is reached; nothing was sent.
    Busy,
    /// Anything else.
    Unknown,
}

impl ErrorKind {
    /// Whether no server was reached: the request cannot have caused the failure.
    pub fn is_unreachable(self) -> bool {
        matches!(
            self,
            Self::Connect | Self::Dns | Self::Tls | Self::Timeout(Timer::Connect)
        )
    }

    /// Whether the request was sent and its outcome is unknown: a model may have worked on it,
    /// and the provider may charge for it.
    pub fn may_have_run(self) -> bool {
        match self {
            Self::Timeout(timer) => !matches!(timer, Timer::Connect | Timer::Write),
            Self::ConnectionLost
            | Self::BadResponse
            | Self::Truncated
            | Self::Empty
            | Self::Cancelled
            | Self::Deadline
            | Self::Unknown => true,
            _ => false,
        }
    }
}

/// The timers of an attempt; [`ErrorKind::Timeout`] names the one that expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timer {
    /// Establishing the connection, including TLS.
    Connect,
    /// Waiting for the first byte of the response.
    FirstByte,
    /// Waiting for the first semantic event.
    FirstEvent,
    /// Waiting for the next byte of a stream.
    Idle,
    /// Waiting for the next semantic event while bytes arrive.
    EventIdle,
    /// Sending the request.
    Write,
    /// Receiving the whole response.
    Total,
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connect",
            Self::FirstByte => "first-byte",
            Self::FirstEvent => "first-event",
            Self::Idle => "idle",
            Self::EventIdle => "event-idle",
            Self::Write => "write",
            Self::Total => "total",
        })
    }
}
