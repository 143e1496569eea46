//! The wall clock; no other module reads it.

use std::time::{SystemTime, UNIX_EPOCH};

/// The wall-clock time, for responses, spans and rules.
#[expect(
    clippy::disallowed_methods,
    reason = "the only reader of the wall clock"
)]
pub(crate) fn wall_clock() -> SystemTime {
    SystemTime::now()
}

/// The current Unix time, in seconds.
pub(crate) fn unix_now() -> u64 {
    let since = wall_clock().duration_since(UNIX_EPOCH);
    since.map(|since| since.as_secs()).unwrap_or_default()
}

/// Milliseconds of Unix time.
pub(crate) fn unix_millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
