//! The wall clock: the one place that reads it.

use std::time::{SystemTime, UNIX_EPOCH};

/// The time of day, for answers and for rules: the one place that asks for it.
#[expect(clippy::disallowed_methods, reason = "clients are told the real time")]
pub(crate) fn wall_clock() -> SystemTime {
    SystemTime::now()
}

/// Seconds since 1970.
pub(crate) fn unix_now() -> u64 {
    let since = wall_clock().duration_since(UNIX_EPOCH);
    since.map(|since| since.as_secs()).unwrap_or_default()
}
