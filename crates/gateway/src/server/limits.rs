//! How long a client may take and how much it may hold.

use std::time::Duration;

/// The bounds of connections and requests that no file sets. The defaults suit
/// everybody; tests make them short.
///
/// ```
/// use majordomo_gateway::Limits;
///
/// let limits = Limits::default();
/// assert!(limits.header < limits.idle);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// A new connection must say something within this time.
    pub first_byte: Duration,
    /// A head must be complete this long after its first byte.
    pub header: Duration,
    /// A connection without a request is closed after this.
    pub idle: Duration,
    /// Over each such time a body must come at [`slowest_body`](Self::slowest_body) or faster.
    pub body_window: Duration,
    /// The fewest bytes of a body per second.
    pub slowest_body: u64,
    /// Bytes of a body that extend [`body_timeout`](crate::config::ServerSettings::body_timeout)
    /// by one second.
    pub body_rate: u64,
    /// A client that takes nothing of its answer for so long is cut off.
    pub write_stall: Duration,
    /// How long a request may wait for its turn.
    pub queue_wait: Duration,
    /// Work on more bytes than these leaves the async threads.
    pub heavy: usize,
    /// Connections at the same time; more wait to be accepted.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(10),
            header: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            body_window: Duration::from_secs(15),
            slowest_body: 1024,
            body_rate: 64 * 1024,
            write_stall: Duration::from_secs(30),
            queue_wait: Duration::from_secs(5),
            heavy: crate::heavy_lane::THRESHOLD,
            connections: 10_000,
        }
    }
}
