//! Durations, counts and times in a readable form.

use std::time::Duration;

/// `0.4 ms`, `340 ms`, `1.2 s`, `2 m 03 s`, `4 h 05 m`.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    // Rounded first, so that 999.7 ms is one second.
    if seconds < 0.000_95 {
        format!("{:.1} ms", seconds * 1e3)
    } else if seconds < 0.9995 {
        format!("{:.0} ms", seconds * 1e3)
    } else if seconds < 59.95 {
        format!("{seconds:.1} s")
    } else {
        let whole = seconds.round() as u64;
        match whole / 3600 {
            0 => format!("{} m {:02} s", whole / 60, whole % 60),
            hours => format!("{hours} h {:02} m", whole % 3600 / 60),
        }
    }
}

/// `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `one request`, `2 requests`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{} {many}", count(number)),
    }
}

/// `99.2 %`; exact at both ends.
pub(crate) fn percent(part: u64, whole: u64) -> Option<String> {
    if whole == 0 {
        return None;
    }
    let share = part as f64 / whole as f64 * 100.0;
    Some(match part {
        0 => "0 %".to_owned(),
        _ if part == whole => "100 %".to_owned(),
        // Neither end is reached by rounding.
        _ => format!("{:.1} %", share.clamp(0.1, 99.9)),
    })
}

/// The time of day of a timestamp such as `2026-11-18T14:03:22.120Z`.
pub(crate) fn time_of_day(timestamp: &str) -> &str {
    timestamp.get(11..19).unwrap_or(timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units_at_most() {
        for (micros, text) in [
            (0, "0.0 ms"),
            (420, "0.4 ms"),
            (1_000, "1 ms"),
            (340_400, "340 ms"),
            (999_700, "1.0 s"),
            (1_240_000, "1.2 s"),
            (59_960_000, "1 m 00 s"),
            (123_000_000, "2 m 03 s"),
            (14_700_000_000, "4 h 05 m"),
        ] {
            assert_eq!(duration(Duration::from_micros(micros)), text);
        }
    }

    #[test]
    fn counts_are_grouped_by_thousands() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(count(number), text);
        }
        assert_eq!(counted(1, "request", "requests"), "1 request");
        assert_eq!(counted(2_000, "request", "requests"), "2,000 requests");
    }

    #[test]
    fn a_share_is_whole_only_if_it_is_exact() {
        assert_eq!(percent(0, 0), None);
        assert_eq!(percent(0, 5).as_deref(), Some("0 %"));
        assert_eq!(percent(5, 5).as_deref(), Some("100 %"));
        assert_eq!(percent(99_999, 100_000).as_deref(), Some("99.9 %"));
        assert_eq!(percent(1, 100_000).as_deref(), Some("0.1 %"));
        assert_eq!(percent(1, 3).as_deref(), Some("33.3 %"));
    }

    #[test]
    fn the_time_of_day_is_cut_from_a_timestamp() {
        assert_eq!(time_of_day("2026-11-18T14:03:22.120Z"), "14:03:22");
        assert_eq!(time_of_day("?"), "?");
    }
}
