//! `expires`: when a key stops working.

use std::time::UNIX_EPOCH;

use majordomo_ledger::Day;
use toml::de::DeValue;

use super::reader::ConfigField;

const HINT: &str = "write the last day on which it works, as `\"2027-01-31\"`, or a time in UTC, as \
                    `\"2027-01-31T18:00:00Z\"`";

/// Reads a time, or a date, which includes the whole day in UTC. TOML's own dates need no
/// quotes.
pub(super) fn read_expiry(field: &ConfigField<'_>) -> Option<i64> {
    let text = match field.value {
        DeValue::Datetime(date) => date.to_string(),
        _ => field.non_empty()?.value,
    };
    let end = parse_expiry(&text);
    if end.is_none() {
        field.report(format!("{} is not a date", field.shown()), HINT);
    }
    end
}

/// The Unix time in milliseconds from which a key no longer works.
fn parse_expiry(text: &str) -> Option<i64> {
    if let Ok(day) = text.parse::<Day>() {
        return Some(day.minus(-1).start_millis());
    }
    let time = humantime::parse_rfc3339(text).ok()?;
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_the_last_day_and_a_time_is_exact() {
        for (text, end) in [
            ("1970-01-01", Some(86_400_000)),
            ("1970-01-01T00:00:01Z", Some(1_000)),
            ("2027-02-30", None),
            ("tomorrow", None),
            ("", None),
        ] {
            assert_eq!(parse_expiry(text), end, "{text}");
        }
    }
}
