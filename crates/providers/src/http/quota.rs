//! Reads the remaining rate limits of a key from a response's headers.
//!
//! Two families exist: `x-ratelimit-{limit,remaining,reset}-{requests,tokens}` (OpenAI and the
//! servers that follow it; the reset is a duration such as `6m0s`) and
//! `anthropic-ratelimit-{requests,tokens,input-tokens,output-tokens}-{limit,remaining,reset}`
//! (the reset is an RFC 3339 instant). A malformed value counts as not reported.

use std::time::{Duration, SystemTime};

use majordomo_llm::{Quota, QuotaWindow};

use crate::transport::ResponseHead;

/// Longer header values are not parsed.
const LONGEST_VALUE: usize = 64;
/// Longest time until a reset.
const LONGEST_RESET: Duration = Duration::from_secs(24 * 3_600);

/// The limits that a response reports, if any.
pub(super) fn read_quota(head: &ResponseHead, now: SystemTime) -> Option<Quota> {
    let value = |name: &str| head.header(name).filter(|it| it.len() <= LONGEST_VALUE);
    let openai = |what: &str| {
        let part = |field: &str| value(&format!("x-ratelimit-{field}-{what}"));
        window(part("limit"), part("remaining"), || {
            duration(part("reset")?)
        })
    };
    let anthropic = |what: &str| {
        let part = |field: &str| value(&format!("anthropic-ratelimit-{what}-{field}"));
        window(part("limit"), part("remaining"), || {
            let at = humantime::parse_rfc3339_weak(part("reset")?.trim()).ok()?;
            Some(at.duration_since(now).unwrap_or_default())
        })
    };
    let scarcer = |one: QuotaWindow, other: QuotaWindow| match one.share() <= other.share() {
        true => one,
        false => other,
    };
    let tokens = ["tokens", "input-tokens", "output-tokens"];
    let tokens = tokens.into_iter().filter_map(anthropic).reduce(scarcer);
    let quota = Quota {
        requests: openai("requests").or_else(|| anthropic("requests")),
        tokens: openai("tokens").or(tokens),
    };
    quota.windows().next().map(|_| quota)
}

fn window(
    limit: Option<&str>,
    left: Option<&str>,
    reset: impl FnOnce() -> Option<Duration>,
) -> Option<QuotaWindow> {
    let limit: u64 = limit?.trim().parse().ok()?;
    // A limit of zero means none: some servers send it for units that they do not limit.
    let left: u64 = left?.trim().parse().ok().filter(|_| limit > 0)?;
    Some(QuotaWindow {
        limit,
        left: left.min(limit),
        resets_in: reset().map(|wait| wait.min(LONGEST_RESET)),
    })
}

/// A duration such as `6m0s`, `120ms`, `1h2m3.5s`, or a number of seconds.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut seconds = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.len()
            - rest
                .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
                .len();
        let (number, after) = rest.split_at(digits);
        let number: f64 = number.parse().ok()?;
        let letters = after.len()
            - after
                .trim_start_matches(|c: char| c.is_ascii_alphabetic())
                .len();
        let (unit, after) = after.split_at(letters);
        let scale = match unit {
            "ms" => 1e-3,
            "s" | "" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        seconds += number * scale;
        rest = after;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use http::Response;

    use super::*;

    fn quota(headers: &[(&str, &str)]) -> Option<Quota> {
        let mut response = Response::builder();
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        let (parts, ()) = response.body(()).unwrap().into_parts();
        let now = || SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        read_quota(&ResponseHead::new(parts, now), now())
    }

    fn window(limit: u64, left: u64, millis: Option<u64>) -> Option<QuotaWindow> {
        Some(QuotaWindow {
            limit,
            left,
            resets_in: millis.map(Duration::from_millis),
        })
    }

    #[test]
    fn both_families_are_read() {
        let openai = quota(&[
            ("x-ratelimit-limit-requests", "5000"),
            ("x-ratelimit-remaining-requests", "4999"),
            ("x-ratelimit-reset-requests", "12ms"),
            ("x-ratelimit-limit-tokens", "160000"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ]);
        let expected = Quota {
            requests: window(5_000, 4_999, Some(12)),
            tokens: window(160_000, 0, Some(360_000)),
        };
        assert_eq!(openai, Some(expected));
        let anthropic = quota(&[
            ("anthropic-ratelimit-requests-limit", "50"),
            ("anthropic-ratelimit-requests-remaining", "49"),
            ("anthropic-ratelimit-requests-reset", "2001-09-09T01:46:42Z"),
            ("anthropic-ratelimit-tokens-limit", "1000"),
            ("anthropic-ratelimit-tokens-remaining", "900"),
            ("anthropic-ratelimit-output-tokens-limit", "100"),
            ("anthropic-ratelimit-output-tokens-remaining", "1"),
        ]);
        let expected = Quota {
            requests: window(50, 49, Some(2_000)),
            tokens: window(100, 1, None),
        };
        assert_eq!(anthropic, Some(expected), "the scarcest tokens count");
    }

    #[test]
    fn malformed_and_missing_values_are_not_reported() {
        let long = "1".repeat(100);
        for headers in [
            &[][..],
            &[("x-ratelimit-limit-requests", "5")],
            &[
                ("x-ratelimit-limit-requests", "0"),
                ("x-ratelimit-remaining-requests", "0"),
            ],
            &[
                ("x-ratelimit-limit-tokens", "-1"),
                ("x-ratelimit-remaining-tokens", "-1"),
            ],
            &[
                ("x-ratelimit-limit-tokens", long.as_str()),
                ("x-ratelimit-remaining-tokens", "1"),
            ],
        ] {
            assert_eq!(quota(headers), None, "{headers:?}");
        }
    }

    #[test]
    fn durations_are_read_in_every_form() {
        for (text, millis) in [
            ("1s", Some(1_000)),
            ("6m0s", Some(360_000)),
            ("1m30.5s", Some(90_500)),
            ("1h2m3s", Some(3_723_000)),
            ("17", Some(17_000)),
            ("", None),
            ("soon", None),
            ("1x", None),
            ("1e9s", None),
            ("..s", None),
        ] {
            assert_eq!(duration(text), millis.map(Duration::from_millis), "{text}");
        }
    }
}
