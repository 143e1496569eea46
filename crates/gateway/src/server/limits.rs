//! Connection and request limits that are not configurable by file.

use std::time::Duration;

/// Limits of connections and requests that no configuration file sets. Tests shorten
/// them.
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
    /// Time until the first byte of a new connection.
    pub first_byte: Duration,
    /// Time from a head's first byte to its last.
    pub header: Duration,
    /// Time after which a connection without a request is closed.
    pub idle: Duration,
    /// Time without a request after which a connection is closed while the server stops:
    /// until then, a request may be on its way.
    pub unused: Duration,
    /// Window over which a body must arrive at [`slowest_body`](Self::slowest_body) or
    /// faster.
    pub body_window: Duration,
    /// Lowest accepted body rate, in bytes per second.
    pub slowest_body: u64,
    /// Bytes of a body that extend [`body_timeout`](crate::config::ServerSettings::body_timeout)
    /// by one second.
    pub body_rate: u64,
    /// Time after which a client that reads none of its response is disconnected.
    pub write_stall: Duration,
    /// Longest wait in the admission queue.
    pub queue_wait: Duration,
    /// Work on more bytes than this moves to the heavy lane.
    pub heavy: usize,
    /// Concurrent connections; further ones wait to be accepted.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(10),
            header: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            unused: Duration::from_secs(1),
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
