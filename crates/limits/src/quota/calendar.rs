//! Calendar windows, numbered so that later windows have larger numbers.

use crate::policy::BudgetWindow;

/// Milliseconds of a day in UTC.
const DAY_MS: i64 = 86_400_000;
/// 1970-01-01 is a Thursday: its week begins three days earlier.
const MONDAY_OFFSET: i64 = 3;

/// The operations on a time zone that budgets need.
pub trait Calendar: Send + Sync {
    /// The local date at a Unix time in milliseconds, as days since 1970-01-01.
    fn day_of(&self, unix_millis: i64) -> i64;

    /// The Unix time in milliseconds at which a local day starts.
    fn start_of(&self, day: i64) -> i64;
}

/// The calendar without a time zone.
#[derive(Clone, Copy, Debug, Default)]
pub struct UtcCalendar;

impl Calendar for UtcCalendar {
    fn day_of(&self, unix_millis: i64) -> i64 {
        unix_millis.div_euclid(DAY_MS)
    }

    fn start_of(&self, day: i64) -> i64 {
        day.saturating_mul(DAY_MS)
    }
}

impl BudgetWindow {
    /// The number of the window that contains a day.
    pub fn number(self, day: i64) -> i64 {
        match self {
            Self::Day => day,
            Self::Week => (day + MONDAY_OFFSET).div_euclid(7),
            Self::Month => month_of(day),
            Self::Total => 0,
        }
    }

    /// The first day of a window; `None` if it has none.
    pub fn start_day(self, number: i64) -> Option<i64> {
        self.end_day(number - 1)
    }

    /// The first day after a window; `None` if it never ends.
    pub fn end_day(self, number: i64) -> Option<i64> {
        match self {
            Self::Day => Some(number + 1),
            Self::Week => Some((number + 1) * 7 - MONDAY_OFFSET),
            Self::Month => Some(first_day(number + 1)),
            Self::Total => None,
        }
    }
}

/// Months since year 0 (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn month_of(day: i64) -> i64 {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // March is 0.
    let month = (5 * of_year + 2) / 153;
    (year_of_era + era * 400) * 12 + month + 2
}

/// The first day of a month that [`month_of`] numbers.
fn first_day(number: i64) -> i64 {
    let from_march = number - 2;
    let (year, month) = (from_march.div_euclid(12), from_march.rem_euclid(12));
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let of_year = (153 * month + 2) / 5;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    era * 146_097 + of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn windows_begin_at_midnight_on_monday_and_on_the_first() {
        // 2026-11-18 is a Wednesday.
        let today = 20_775;
        assert_eq!(
            BudgetWindow::Day.end_day(BudgetWindow::Day.number(today)),
            Some(20_776)
        );
        // Monday, 2026-11-23.
        assert_eq!(
            BudgetWindow::Week.end_day(BudgetWindow::Week.number(today)),
            Some(20_780)
        );
        // 2026-12-01.
        assert_eq!(BudgetWindow::Month.number(today), 2026 * 12 + 10);
        assert_eq!(BudgetWindow::Month.end_day(2026 * 12 + 10), Some(20_788));
        assert_eq!(BudgetWindow::Total.end_day(0), None);
    }

    proptest! {
        #[test]
        fn a_window_contains_the_days_before_its_end(day in -800_000_i64..800_000) {
            for window in BudgetWindow::ALL {
                let number = window.number(day);
                prop_assert!(window.number(day + 1) >= number);
                let Some(end) = window.end_day(number) else { continue };
                prop_assert!(end > day);
                prop_assert!(window.start_day(number).is_some_and(|start| start <= day));
                prop_assert_eq!(window.number(end), number + 1);
                prop_assert_eq!(window.number(end - 1), number);
            }
        }
    }
}
