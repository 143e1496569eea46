//! Local days of a time zone.

use std::sync::{Mutex, PoisonError};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use majordomo_limits::Calendar;

const EPOCH: Date = Date::constant(1970, 1, 1);

/// A time zone. Caches the current day, which most calls need.
pub(crate) struct LocalDays {
    zone: TimeZone,
    today: Mutex<DaySpan>,
}

/// A day and its Unix times in milliseconds.
#[derive(Clone, Copy, Default)]
struct DaySpan {
    day: i64,
    start: i64,
    end: i64,
}

impl LocalDays {
    pub(crate) fn new(zone: TimeZone) -> Self {
        let today = Mutex::default();
        Self { zone, today }
    }

    fn compute(&self, unix_millis: i64) -> i64 {
        let Ok(time) = Timestamp::from_millisecond(unix_millis) else {
            return 0;
        };
        let date = self.zone.to_datetime(time).date();
        date.duration_since(EPOCH).as_hours() / 24
    }
}

impl Calendar for LocalDays {
    fn day_of(&self, unix_millis: i64) -> i64 {
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        if !(today.start..today.end).contains(&unix_millis) {
            let day = self.compute(unix_millis);
            *today = DaySpan {
                day,
                start: self.start_of(day),
                end: self.start_of(day + 1),
            };
        }
        today.day
    }

    fn start_of(&self, day: i64) -> i64 {
        let date = Span::new().try_days(day).ok();
        let date = date.and_then(|days| EPOCH.checked_add(days).ok());
        let start = date.and_then(|date| date.to_zoned(self.zone.clone()).ok());
        start.map_or(i64::MAX, |start| start.timestamp().as_millisecond())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_23_to_25_hours_and_follow_each_other() {
        const HOUR: i64 = 3_600_000;
        let berlin = LocalDays::new(TimeZone::get("Europe/Berlin").unwrap());
        let kathmandu = LocalDays::new(TimeZone::get("Asia/Kathmandu").unwrap());
        let hours = |days: &LocalDays, day| (days.start_of(day + 1) - days.start_of(day)) / HOUR;
        // 2026-03-29 and 2026-10-25.
        assert_eq!(hours(&berlin, 20_541), 23);
        assert_eq!(hours(&berlin, 20_751), 25);
        assert_eq!(hours(&kathmandu, 20_541), 24);
        for days in [&berlin, &kathmandu] {
            for day in 20_454..20_820 {
                let start = days.start_of(day);
                assert_eq!(days.day_of(start), day);
                assert_eq!(days.day_of(start - 1), day - 1);
            }
        }
    }
}
