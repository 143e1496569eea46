//! Time, supplied by the caller: nothing here reads a clock.

use std::time::Duration;

use super::calendar::Calendar;

/// One moment, by both clocks. Rates use the monotonic one; budgets use the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Time since an arbitrary start; never goes back.
    pub monotonic: Duration,
    /// The local day, as days since the epoch. May jump.
    pub day: i64,
}

impl Moment {
    /// A moment in a time zone.
    pub fn new(monotonic: Duration, unix_millis: i64, calendar: &dyn Calendar) -> Self {
        Self {
            monotonic,
            day: calendar.day_of(unix_millis),
        }
    }
}
