//! The headers that tell clients their rates.

use std::fmt::Write as _;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use majordomo_limits::RateState;

use super::caller::CallerLimits;
use crate::clock::wall_clock;
use crate::fronts::Front;

/// The units, in the order in which a stack reports its rates.
const UNITS: [&str; 2] = ["requests", "tokens"];

/// Adds the tightest rates, in the names of the client's dialect.
pub(crate) fn add_limit_headers(headers: &mut HeaderMap, front: Front, caller: &CallerLimits) {
    let anthropic = front == Front::Messages;
    if !anthropic
        && !matches!(
            front,
            Front::Chat | Front::TextCompletions | Front::Responses | Front::Compaction
        )
    {
        return;
    }
    let rates = caller.stack().rates(caller.now().monotonic);
    for (unit, state) in UNITS.into_iter().zip(rates) {
        let Some(state) = state else { continue };
        for (field, value) in fields(state, anthropic) {
            let name = match anthropic {
                true => format!("anthropic-ratelimit-{unit}-{field}"),
                false => format!("x-ratelimit-{field}-{unit}"),
            };
            let name = HeaderName::try_from(name);
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&value)) {
                headers.insert(name, value);
            }
        }
    }
}

fn fields(state: RateState, absolute: bool) -> [(&'static str, String); 3] {
    let reset = match absolute {
        true => humantime::format_rfc3339_seconds(wall_clock() + state.reset).to_string(),
        false => go_duration(state.reset),
    };
    [
        ("limit", state.limit.to_string()),
        ("remaining", state.remaining.to_string()),
        ("reset", reset),
    ]
}

/// A duration as OpenAI writes it: `6m0s`, `1.5s`, `120ms`.
fn go_duration(time: Duration) -> String {
    let millis = time.as_millis().min(u128::from(u32::MAX));
    if millis < 1_000 {
        return format!("{millis}ms");
    }
    let (minutes, rest) = (millis / 60_000, millis % 60_000);
    let mut text = String::new();
    if minutes > 0 {
        // Writing to a string cannot fail.
        let _ = write!(text, "{minutes}m");
    }
    let _ = match rest % 1_000 {
        0 => write!(text, "{}s", rest / 1_000),
        part => {
            let part = format!("{part:03}");
            write!(text, "{}.{}s", rest / 1_000, part.trim_end_matches('0'))
        }
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_is_written_as_openai_writes_it() {
        for (millis, text) in [
            (0, "0ms"),
            (120, "120ms"),
            (1_000, "1s"),
            (1_500, "1.5s"),
            (59_050, "59.05s"),
            (360_000, "6m0s"),
            (61_001, "1m1.001s"),
        ] {
            assert_eq!(go_duration(Duration::from_millis(millis)), text);
        }
    }
}
