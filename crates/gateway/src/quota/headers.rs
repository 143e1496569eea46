//! The headers that report rate limits to clients.

use std::fmt::Write as _;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use majordomo_limits::RateState;

use super::caller::CallerLimits;
use crate::clock::wall_clock;
use crate::fronts::Front;

/// The names of one unit's headers: its limit, what remains, and when it is full again.
type Names = [HeaderName; 3];

/// By unit, in the order in which a stack reports its rates.
static OPENAI: [Names; 2] = [
    [
        HeaderName::from_static("x-ratelimit-limit-requests"),
        HeaderName::from_static("x-ratelimit-remaining-requests"),
        HeaderName::from_static("x-ratelimit-reset-requests"),
    ],
    [
        HeaderName::from_static("x-ratelimit-limit-tokens"),
        HeaderName::from_static("x-ratelimit-remaining-tokens"),
        HeaderName::from_static("x-ratelimit-reset-tokens"),
    ],
];
static ANTHROPIC: [Names; 2] = [
    [
        HeaderName::from_static("anthropic-ratelimit-requests-limit"),
        HeaderName::from_static("anthropic-ratelimit-requests-remaining"),
        HeaderName::from_static("anthropic-ratelimit-requests-reset"),
    ],
    [
        HeaderName::from_static("anthropic-ratelimit-tokens-limit"),
        HeaderName::from_static("anthropic-ratelimit-tokens-remaining"),
        HeaderName::from_static("anthropic-ratelimit-tokens-reset"),
    ],
];

/// Adds the tightest rates, in the names of the client's dialect.
pub(crate) fn add_limit_headers(headers: &mut HeaderMap, front: Front, caller: &CallerLimits) {
    let (names, absolute) = match front {
        Front::Messages => (&ANTHROPIC, true),
        Front::Chat | Front::TextCompletions | Front::Responses | Front::Compaction => {
            (&OPENAI, false)
        }
        _ => return,
    };
    let rates = caller.stack().rates(caller.now().monotonic);
    for ([limit, remaining, reset], state) in names.iter().zip(rates) {
        let Some(state) = state else { continue };
        headers.insert(limit, state.limit.into());
        headers.insert(remaining, state.remaining.into());
        if let Ok(value) = HeaderValue::try_from(reset_text(state, absolute)) {
            headers.insert(reset, value);
        }
    }
}

fn reset_text(state: RateState, absolute: bool) -> String {
    match absolute {
        true => humantime::format_rfc3339_seconds(wall_clock() + state.reset).to_string(),
        false => go_duration(state.reset),
    }
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
