//! UTC days and quarter hours, from Unix time.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;
/// Milliseconds of fifteen minutes: the finest step in which every time zone is offset.
pub(crate) const QUARTER_MS: i64 = 900_000;

/// A day in UTC, as days since the epoch.
///
/// ```
/// use majordomo_ledger::Day;
///
/// let day: Day = "2026-11-17".parse().unwrap();
/// assert_eq!(day, Day::of_millis(1_794_924_000_000));
/// assert_eq!(day.to_string(), "2026-11-17");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Day(i64);

impl Day {
    /// The day of a Unix time in milliseconds.
    pub const fn of_millis(millis: i64) -> Self {
        Self(millis.div_euclid(DAY_MS))
    }

    /// A number of days since the epoch.
    pub const fn from_number(days: i64) -> Self {
        Self(days)
    }

    /// Days since the epoch.
    pub const fn number(self) -> i64 {
        self.0
    }

    /// The Unix time at which the day starts, in milliseconds.
    pub const fn start_millis(self) -> i64 {
        self.0.saturating_mul(DAY_MS)
    }

    /// The day that many days earlier.
    pub const fn minus(self, days: i64) -> Self {
        Self(self.0.saturating_sub(days))
    }

    /// Year, month and day of the month (Hinnant, "chrono-Compatible Low-Level Date
    /// Algorithms").
    fn civil(self) -> (i64, i64, i64) {
        let z = self.0 + 719_468;
        let era = z.div_euclid(146_097);
        let day_of_era = z.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 {
            shifted + 3
        } else {
            shifted - 9
        };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        (year, month, day)
    }

    fn from_civil(year: i64, month: i64, day: i64) -> Self {
        let year = if month <= 2 { year - 1 } else { year };
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let shifted = if month > 2 { month - 3 } else { month + 9 };
        let day_of_year = (153 * shifted + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        Self(era * 146_097 + day_of_era - 719_468)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

/// A date that is not written as `2026-11-17`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a date; write it as 2026-11-17")]
pub struct DayError(String);

impl FromStr for Day {
    type Err = DayError;

    fn from_str(text: &str) -> Result<Self, DayError> {
        let error = || DayError(text.to_owned());
        let mut parts = text.split('-').map(|part| {
            let digits = part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse::<i64>()
                .ok()
                .filter(|_| digits && part.len() <= 4)
        });
        let mut next = || parts.next().flatten().ok_or_else(error);
        let day = Self::from_civil(next()?, next()?, next()?);
        // Dates that do not exist, such as the 31st of June, are converted to another date.
        if parts.next().is_some() || day.to_string() != text {
            return Err(error());
        }
        Ok(day)
    }
}

/// The start of the quarter hour of a Unix time, in units of fifteen minutes.
pub(crate) const fn quarter_of_millis(millis: i64) -> i64 {
    millis.div_euclid(QUARTER_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_convert_both_ways() {
        for number in (-200_000..200_000).step_by(97) {
            let day = Day(number);
            let (year, month, of_month) = day.civil();
            assert_eq!(Day::from_civil(year, month, of_month), day);
        }
        for text in ["1970-01-01", "2000-02-29", "2026-12-31"] {
            assert_eq!(text.parse::<Day>().unwrap().to_string(), text);
        }
        for text in [
            "2026-02-29",
            "2026-13-01",
            "26-1-1",
            "2026-11-17x",
            "",
            "+026-11-17",
        ] {
            assert!(text.parse::<Day>().is_err(), "{text}");
        }
    }
}
