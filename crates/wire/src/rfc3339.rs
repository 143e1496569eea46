//! Unix timestamps in RFC 3339 format.

/// Formats as `2026-11-15T08:00:00Z`.
pub(crate) fn from_unix(seconds: u64) -> String {
    let (year, month, day) = date(seconds / 86_400);
    let clock = seconds % 86_400;
    let (hour, minute, second) = (clock / 3_600, clock / 60 % 60, clock % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The date of a day since 1970. Years start in March, so that the leap day is
/// the last day of its year.
fn date(days: u64) -> (u64, u64, u64) {
    const CYCLE: u64 = 146_097;
    let shifted = days + 719_468;
    let (cycle, day) = (shifted / CYCLE, shifted % CYCLE);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = cycle * 400 + year;
    match month {
        0..=9 => (year, month + 3, day),
        _ => (year + 1, month - 9, day),
    }
}

#[cfg(test)]
mod tests {
    use super::from_unix;

    #[test]
    fn leap_days_and_year_ends_are_formatted_correctly() {
        let rows = [
            (0, "1970-01-01T00:00:00Z"),
            (86_399, "1970-01-01T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ];
        for (seconds, expected) in rows {
            assert_eq!(from_unix(seconds), expected, "{seconds}");
        }
    }
}
