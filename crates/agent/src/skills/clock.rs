//! The skill of knowing the time.

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
    /// An IANA time zone such as `Europe/Berlin`; UTC if left out.
    timezone: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct TimeConvert {
    /// For example `2026-03-01T09:30` or `2026-03-01T09:30:00+01:00`.
    time: String,
    /// The IANA time zone of `time`, if it has no offset of its own; UTC if left out.
    from: Option<String>,
    /// The IANA time zone to convert to.
    to: String,
}

/// A moment in one place.
#[derive(Debug, PartialEq, Serialize)]
struct Told {
    time: String,
    timezone: String,
    weekday: String,
}

/// A skill with two tools: `time_now` and `time_convert`.
///
/// ```
/// use majordomo::agent::{Skill, clock};
///
/// assert_eq!(clock().toolbox().unwrap().definitions().len(), 2);
/// ```
#[allow(
    clippy::disallowed_methods,
    reason = "the one wall clock here; whoever wants another one injects it"
)]
pub fn clock() -> BuiltSkill {
    clock_with(SystemTime::now)
}

/// As [`clock`], with the time from somewhere else.
pub fn clock_with(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> BuiltSkill {
    let now = Arc::new(now);
    let time_now = Function::new(
        "time_now",
        "The current date and time in a time zone.",
        move |arguments: TimeNow| {
            let now = now();
            async move { tell_now(now, arguments.timezone.as_deref()) }
        },
    );
    let time_convert = Function::new(
        "time_convert",
        "Converts a date and time from one time zone to another.",
        |arguments: TimeConvert| async move { convert(&arguments) },
    );
    SkillBuilder::new("clock")
        .instructions(
            "Ask the tool `time_now` for the date and time; you do not know them by yourself.",
        )
        .tool(time_now)
        .tool(time_convert)
        .build()
        .expect("two names and derived schemas are always accepted")
}

fn tell_now(now: SystemTime, timezone: Option<&str>) -> Result<Told, String> {
    let now = Timestamp::try_from(now).map_err(|error| error.to_string())?;
    Ok(tell(&now.to_zoned(zone(timezone)?)))
}

fn convert(arguments: &TimeConvert) -> Result<Told, String> {
    let target = zone(Some(&arguments.to))?;
    let moment = match arguments.time.parse::<Timestamp>() {
        Ok(moment) => moment,
        Err(_) => local(&arguments.time, arguments.from.as_deref())?,
    };
    Ok(tell(&moment.to_zoned(target)))
}

/// A time without an offset. One that a clock change skips or repeats is taken
/// as calendars do: the later of a skipped one, the first of a repeated one.
fn local(time: &str, from: Option<&str>) -> Result<Timestamp, String> {
    let zone = zone(from)?;
    let date_time: DateTime = time.parse().map_err(|error| {
        format!("`{time}` is no time; write it like 2026-03-01T09:30 ({error})")
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
            format!("there is no time zone `{name}`; use an IANA name such as Europe/Berlin")
        }),
    }
}

fn tell(moment: &Zoned) -> Told {
    Told {
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

    async fn ask(tool: &str, arguments: &str) -> (String, bool) {
        let skill = clock_with(july);
        let call = ToolCall::new("a", tool, arguments);
        let result = skill.toolbox().unwrap().call(&call).await;
        (result.text(), result.is_error)
    }

    #[tokio::test]
    async fn the_time_is_told_in_any_zone_and_in_utc_by_default() {
        for (arguments, told) in [
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
            assert_eq!(ask("time_now", arguments).await, (told.into(), false));
        }
    }

    #[test]
    fn times_are_converted_across_summer_time() {
        for (time, from, to, told) in [
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
            assert_eq!(convert(&arguments).unwrap().time, told, "{time}");
        }
    }

    #[tokio::test]
    async fn wrong_zones_and_times_are_explained() {
        let (text, is_error) = ask("time_now", r#"{"timezone": "Berlin"}"#).await;
        assert!(is_error && text.contains("use an IANA name"), "{text}");
        let (text, is_error) = ask("time_convert", r#"{"time": "noon", "to": "UTC"}"#).await;
        assert!(is_error && text.contains("write it like"), "{text}");
    }
}
