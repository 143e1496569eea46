//! `time`: the wall clock in a time zone. A window such as 22:00 to 06:00 spans
//! midnight and belongs to the day on which it starts.

use std::time::SystemTime;

use jiff::civil::{Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde_json::{Map, Value};

use super::check::{Check, Compiled};
use super::{Op, Position};
use crate::error::InvalidValue;
use crate::{RuleIndex, Subject, value};

pub(super) const TIME: Position = Position {
    name: "time",
    ops: &[Op {
        name: "time_range",
        compile: time_range,
    }],
};

const FIELDS: &[&str] = &["start", "end", "timezone", "days", "outside"];
const EXAMPLE: &str = r#"{ start = "09:00", end = "17:00", timezone = "Europe/Berlin" }"#;
const DAYS: [(&str, Weekday); 7] = [
    ("mon", Weekday::Monday),
    ("tue", Weekday::Tuesday),
    ("wed", Weekday::Wednesday),
    ("thu", Weekday::Thursday),
    ("fri", Weekday::Friday),
    ("sat", Weekday::Saturday),
    ("sun", Weekday::Sunday),
];

#[derive(Debug)]
struct TimeRange {
    /// Start (inclusive) and end (exclusive); `None` is the whole day.
    window: Option<(Time, Time)>,
    /// `None` is every day.
    days: Option<Vec<Weekday>>,
    zone: TimeZone,
    outside: bool,
}

fn time_range(value: Option<&Value>) -> Compiled {
    let table = value::table(value, EXAMPLE)?;
    value::only_fields(&table, FIELDS)?;
    let days = table.get("days").map(days).transpose()?;
    let window = match (table.get("start"), table.get("end")) {
        (None, None) if days.is_some() => None,
        (Some(start), Some(end)) => Some(window(start, end)?),
        _ => {
            let message = format!("`start` and `end` must be given together: {EXAMPLE}");
            return Err(InvalidValue::new(message));
        }
    };
    Ok(Box::new(TimeRange {
        window,
        days,
        zone: zone(&table)?,
        outside: outside(&table)?,
    }))
}

fn window(start: &Value, end: &Value) -> Result<(Time, Time), InvalidValue> {
    let (start, end) = (minute(start)?, minute(end)?);
    if start == end {
        let message = "`start` and `end` are equal; omit both for the whole day";
        return Err(InvalidValue::new(message));
    }
    Ok((start, end))
}

/// `HH:MM` with two digits each, from 00:00 to 23:59.
fn minute(written: &Value) -> Result<Time, InvalidValue> {
    let text = written.as_str().unwrap_or_default();
    let read = || {
        let (hour, minute) = text.split_once(':')?;
        let two_digits = |part: &str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit());
        if !two_digits(hour) || !two_digits(minute) {
            return None;
        }
        Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
    };
    read().ok_or_else(|| {
        InvalidValue::new(format!(
            "{written} is not a time of day; use the form \"09:00\""
        ))
    })
}

fn zone(table: &Map<String, Value>) -> Result<TimeZone, InvalidValue> {
    let Some(name) = table.get("timezone").and_then(Value::as_str) else {
        let message = format!("the string `timezone` is missing: {EXAMPLE}");
        return Err(InvalidValue::new(message));
    };
    TimeZone::get(name).map_err(|_| {
        let known: Vec<String> = jiff::tz::db().available().map(|n| n.to_string()).collect();
        InvalidValue::new(format!("unknown time zone `{name}`"))
            .nearest(name, known.iter().map(String::as_str))
    })
}

fn days(written: &Value) -> Result<Vec<Weekday>, InvalidValue> {
    let names = DAYS.map(|(name, _)| name);
    let list = written.as_array().filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| {
        InvalidValue::new("`days` must be a non-empty list such as [\"mon\", \"tue\"]")
    })?;
    let day = |day: &Value| {
        let written = day.as_str().unwrap_or_default();
        let known = DAYS.iter().find(|(name, _)| *name == written);
        known.map(|(_, day)| *day).ok_or_else(|| {
            InvalidValue::new(format!(
                "{day} is not a day; expected one of {}",
                value::listed(&names)
            ))
            .nearest(written, names)
        })
    };
    list.iter().map(day).collect()
}

fn outside(table: &Map<String, Value>) -> Result<bool, InvalidValue> {
    match table.get("outside") {
        None => Ok(false),
        Some(Value::Bool(outside)) => Ok(*outside),
        Some(_) => Err(InvalidValue::new("`outside` must be true or false")),
    }
}

impl TimeRange {
    fn local(&self, now: SystemTime) -> Option<Zoned> {
        let now = Timestamp::try_from(now).ok()?;
        Some(now.to_zoned(self.zone.clone()))
    }

    fn is_inside(&self, local: &Zoned) -> bool {
        let time = local.time();
        // After midnight, a window that spans it started on the previous day.
        let (in_window, began_before) = match self.window {
            None => (true, false),
            Some((start, end)) if start < end => (start <= time && time < end, false),
            Some((start, end)) => (time >= start || time < end, time < end),
        };
        in_window && self.is_on(local, began_before)
    }

    fn is_on(&self, local: &Zoned, day_before: bool) -> bool {
        let Some(days) = &self.days else {
            return true;
        };
        let today = local.weekday();
        let day = if day_before { today.previous() } else { today };
        days.contains(&day)
    }
}

impl Check for TimeRange {
    fn holds(&self, subject: &Subject<'_>, _: RuleIndex) -> bool {
        let local = self.local(subject.now());
        local.is_some_and(|local| self.is_inside(&local) != self.outside)
    }

    fn actual(&self, subject: &Subject<'_>, _: RuleIndex) -> String {
        match self.local(subject.now()) {
            Some(local) => local.strftime("%a %H:%M %Q").to_string().to_lowercase(),
            None => "none".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::{errors_of, holds};
    use crate::{ConditionSpec, Subject};
    use majordomo::Request;
    use serde_json::{Value, json};

    /// Whether the condition holds at an RFC 3339 timestamp.
    fn at(moment: &str, value: Value) -> bool {
        let moment: jiff::Timestamp = moment.parse().expect("a valid timestamp");
        let request = Request::user("hi");
        let subject = Subject::new(&request, "m").at(moment.into());
        holds("time", "time_range", value, &subject)
    }

    #[test]
    fn days_restrict_the_window() {
        let weekdays = json!({
            "start": "09:00", "end": "17:00", "timezone": "UTC", "days": ["mon", "tue"],
        });
        // 2026-11-16 is a Monday.
        assert!(at("2026-11-16T10:00:00Z", weekdays.clone()));
        assert!(!at("2026-11-16T18:00:00Z", weekdays.clone()));
        assert!(!at("2026-11-18T10:00:00Z", weekdays));
    }

    #[test]
    fn a_window_over_midnight_belongs_to_the_day_it_starts() {
        let friday_night = json!({
            "start": "22:00", "end": "06:00", "timezone": "UTC", "days": ["fri"],
        });
        assert!(at("2026-11-20T23:00:00Z", friday_night.clone()));
        assert!(at("2026-11-21T05:00:00Z", friday_night.clone()));
        assert!(!at("2026-11-20T05:00:00Z", friday_night.clone()));
        assert!(!at("2026-11-21T23:00:00Z", friday_night));
    }

    #[test]
    fn days_without_a_window_are_whole_days_in_the_time_zone() {
        let weekend = json!({"days": ["sat", "sun"], "timezone": "Asia/Tokyo"});
        assert!(
            at("2026-11-20T15:00:00Z", weekend.clone()),
            "Saturday there"
        );
        assert!(!at("2026-11-22T15:00:00Z", weekend), "Monday there");
    }

    #[test]
    fn outside_negates_days_and_window_together() {
        let off_work = json!({
            "start": "09:00", "end": "17:00", "timezone": "UTC", "days": ["mon"],
            "outside": true,
        });
        assert!(!at("2026-11-16T10:00:00Z", off_work.clone()));
        assert!(at("2026-11-16T18:00:00Z", off_work.clone()));
        assert!(at("2026-11-17T10:00:00Z", off_work));
    }

    #[test]
    fn no_wall_clock_time_is_out_of_range_for_a_window() {
        let night =
            json!({"start": "23:00", "end": "05:00", "timezone": "Asia/Tokyo", "days": ["thu"]});
        assert!(!at("1970-01-01T00:00:00Z", night.clone()));
        assert!(at("1970-01-01T14:00:00Z", night.clone()));
        assert!(!at("9999-12-30T00:00:00Z", night));
    }

    #[test]
    fn errors_suggest_what_was_meant() {
        for (value, expected) in [
            (
                json!({"days": ["monday"], "timezone": "UTC"}),
                "did you mean `mon`",
            ),
            (json!({"days": [], "timezone": "UTC"}), "non-empty list"),
            (
                json!({"start": "09:00", "timezone": "UTC"}),
                "given together",
            ),
            (
                json!({"start": "09:00", "end": "10:00", "timezone": "Europe/Belrin"}),
                "did you mean `Europe/Berlin`",
            ),
            (
                json!({"start": "09:00", "end": "10:00"}),
                "`timezone` is missing",
            ),
            (
                json!({"days": ["mon"], "timezone": "UTC", "outside": "yes"}),
                "true or false",
            ),
        ] {
            let spec = ConditionSpec::leaf("time", "time_range", value.clone());
            let error = &errors_of(&spec)[0];
            assert!(error.contains(expected), "{value}: {error}");
        }
    }
}
