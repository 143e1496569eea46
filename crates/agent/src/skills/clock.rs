//! The `clock` skill.

use std::sync::Arc;
use std::time::SystemTime;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BuiltSkill, SkillBuilder};
use crate::Function;

#[derive(Deserialize, JsonSchema)]
struct TimeNow {
    /// An IANA time zone such as `Europe/Berlin`; defaults to UTC.
    timezone: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct TimeConvert {
    /// For example `2026-03-01T09:30` or `2026-03-01T09:30:00+01:00`.
    time: String,
    /// The IANA time zone of `time` if it has no offset; defaults to UTC.
    from: Option<String>,
    /// The IANA time zone to convert to.
    to: String,
}

/// A point in time in one time zone.
#[derive(Debug, PartialEq, Serialize)]
struct LocalTime {
    time: String,
    timezone: String,
    weekday: String,
}

/// Returns a skill with two tools: `time_now` and `time_convert`.
///
/// ```
/// use majordomo::agent::{Skill, clock};
///
/// assert_eq!(clock().toolbox().unwrap().definitions().len(), 2);
/// ```
#[allow(
    clippy::disallowed_methods,
    reason = "the only use of the wall clock; tests use `clock_with`"
)]
pub fn clock() -> BuiltSkill {
    clock_with(SystemTime::now)
}

/// Like [`clock`], with a custom time source.
pub fn clock_with(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> BuiltSkill {
    let now = Arc::new(now);
    let time_now = Function::new(
        "time_now",
        "The current date and time in a time zone.",
        move |arguments: TimeNow| {
            let now = now();
            async move { time_in_zone(now, arguments.timezone.as_deref()) }
        },
    );
    let time_convert = Function::new(
        "time_convert",
        "Converts a date and time from one time zone to another.",
        |arguments: TimeConvert| async move { convert(&arguments) },
    );
    SkillBuilder::new("clock")
        .instructions("Ask the tool `time_now` for the date and time; you do not know them.")
        .tool(time_now)
        .tool(time_convert)
        .build()
        .expect("two names and derived schemas are always accepted")
}

fn time_in_zone(now: SystemTime, timezone: Option<&str>) -> Result<LocalTime, String> {
    let now = Timestamp::try_from(now).map_err(|error| error.to_string())?;
    Ok(local_time(&now.to_zoned(zone(timezone)?)))
}

fn convert(arguments: &TimeConvert) -> Result<LocalTime, String> {
    let target = zone(Some(&arguments.to))?;
    let moment = match arguments.time.parse::<Timestamp>() {
        Ok(moment) => moment,
        Err(_) => local(&arguments.time, arguments.from.as_deref())?,
    };
    Ok(local_time(&moment.to_zoned(target)))
}

/// Resolves a time without an offset. Daylight saving gaps resolve to the later time,
/// and folds to the earlier one.
fn local(time: &str, from: Option<&str>) -> Result<Timestamp, String> {
    let zone = zone(from)?;
    let date_time: DateTime = time.parse().map_err(|error| {
        format!("`{time}` is not a valid time; write it like 2026-03-01T09:30 ({error})")
    })?;
    let zoned = date_time
        .to_zoned(zone)
        .map_err(|error| error.to_string())?;
    Ok(zoned.timestamp())
}

fn zone(name: Option<&str>) -> Result<TimeZone, String> {
    let name = name.map(str::trim).filter(|name| !name.is_empty());
    match name {
        None => Ok(TimeZone::UTC),
        Some(name) => TimeZone::get(name).map_err(|_| {
            format!("unknown time zone `{name}`; use an IANA name such as Europe/Berlin")
        }),
    }
}

fn local_time(moment: &Zoned) -> LocalTime {
    LocalTime {
        time: moment.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        timezone: moment.time_zone().iana_name().unwrap_or("UTC").into(),
        weekday: moment.strftime("%A").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::Skill;
    use majordomo_llm::ToolCall;
    use std::time::Duration;

    /// 2026-07-01T12:00:00Z, a Wednesday.
    fn july() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_782_907_200)
    }

    async fn call_tool(tool: &str, arguments: &str) -> (String, bool) {
        let skill = clock_with(july);
        let call = ToolCall::new("a", tool, arguments);
        let result = skill.toolbox().unwrap().call(&call).await;
        (result.text(), result.is_error)
    }

    #[tokio::test]
    async fn the_time_is_returned_in_any_zone_and_in_utc_by_default() {
        for (arguments, expected) in [
            (
                "{}",
                r#"{"time":"2026-07-01T12:00:00+00:00","timezone":"UTC","weekday":"Wednesday"}"#,
            ),
            (
                r#"{"timezone": "Asia/Tokyo"}"#,
                r#"{"time":"2026-07-01T21:00:00+09:00","timezone":"Asia/Tokyo","weekday":"Wednesday"}"#,
            ),
            (
                r#"{"timezone": "Pacific/Kiritimati"}"#,
                r#"{"time":"2026-07-02T02:00:00+14:00","timezone":"Pacific/Kiritimati","weekday":"Thursday"}"#,
            ),
        ] {
            assert_eq!(
                call_tool("time_now", arguments).await,
                (expected.into(), false)
            );
        }
    }

    #[test]
    fn conversion_respects_daylight_saving_time() {
        for (time, from, to, expected) in [
            (
                "2026-01-15T09:30",
                Some("Europe/Berlin"),
                "America/New_York",
                "2026-01-15T03:30:00-05:00",
            ),
            (
                "2026-03-20T09:30",
                Some("Europe/Berlin"),
                "America/New_York",
                "2026-03-20T04:30:00-04:00",
            ),
            (
                "2026-07-01T12:00:00+02:00",
                Some("Asia/Tokyo"),
                "UTC",
                "2026-07-01T10:00:00+00:00",
            ),
            (
                "2026-07-01 12:00",
                None,
                "Europe/Berlin",
                "2026-07-01T14:00:00+02:00",
            ),
            (
                "2026-03-29T02:30",
                Some("Europe/Berlin"),
                "UTC",
                "2026-03-29T01:30:00+00:00",
            ),
        ] {
            let arguments = TimeConvert {
                time: time.into(),
                from: from.map(Into::into),
                to: to.into(),
            };
            assert_eq!(convert(&arguments).unwrap().time, expected, "{time}");
        }
    }

    #[tokio::test]
    async fn invalid_zones_and_times_are_explained() {
        let (text, is_error) = call_tool("time_now", r#"{"timezone": "Berlin"}"#).await;
        assert!(is_error && text.contains("use an IANA name"), "{text}");
        let (text, is_error) = call_tool("time_convert", r#"{"time": "noon", "to": "UTC"}"#).await;
        assert!(is_error && text.contains("write it like"), "{text}");
    }
}
