//! Parses the `Retry-After` header (RFC 9110, section 10.2.3) and its variants.

use std::time::{Duration, SystemTime};

/// Longer delays are clamped to this.
const MAX_DELAY: Duration = Duration::from_secs(3_600);

/// Parses `retry-after-ms` (milliseconds), falling back to `retry-after` (seconds, or
/// an HTTP date relative to `now`). Numbers may have a fraction.
///
/// A date in the past yields zero and an unparsable value yields `None`. The delay is
/// clamped to one hour.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use majordomo_llm::retry_after;
///
/// let header = |name: &str| (name == "retry-after").then_some("1.5");
/// let wait = retry_after(header, SystemTime::UNIX_EPOCH);
/// assert_eq!(wait, Some(Duration::from_millis(1500)));
/// ```
pub fn retry_after<'a>(
    header: impl Fn(&str) -> Option<&'a str>,
    now: SystemTime,
) -> Option<Duration> {
    let millis = || number(header("retry-after-ms")?).map(|ms| ms / 1_000.0);
    let seconds = || number(header("retry-after")?);
    let date = || httpdate::parse_http_date(header("retry-after")?.trim()).ok();
    let wait = match millis().or_else(seconds) {
        Some(seconds) => Duration::from_secs_f64(seconds),
        None => date()?.duration_since(now).unwrap_or_default(),
    };
    Some(wait.min(MAX_DELAY))
}

/// Parses a finite, non-negative number, clamped to fit a `Duration`.
fn number(text: &str) -> Option<f64> {
    let value: f64 = text.trim().parse().ok()?;
    (value.is_finite() && value >= 0.0).then(|| value.min(1e9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse_headers(pairs: &[(&str, &str)], now: SystemTime) -> Option<Duration> {
        retry_after(
            |name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| *v),
            now,
        )
    }

    #[test]
    fn every_form_is_parsed() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        type Row<'a> = (&'a [(&'a str, &'a str)], Option<f64>);
        let rows: &[Row<'_>] = &[
            (&[("retry-after-ms", "250")], Some(0.25)),
            (&[("retry-after-ms", "12.5")], Some(0.0125)),
            (&[("retry-after", "7")], Some(7.0)),
            (&[("retry-after", " 0.5 ")], Some(0.5)),
            (
                &[("retry-after-ms", "250"), ("retry-after", "7")],
                Some(0.25),
            ),
            (
                &[("retry-after-ms", "soon"), ("retry-after", "7")],
                Some(7.0),
            ),
            (
                &[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")],
                Some(7.0),
            ),
            (
                &[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")],
                Some(0.0),
            ),
            (&[("retry-after", "99999999")], Some(3_600.0)),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "later")], None),
            (&[], None),
        ];
        for (headers, seconds) in rows {
            let expected = seconds.map(Duration::from_secs_f64);
            assert_eq!(parse_headers(headers, now), expected, "{headers:?}");
        }
    }

    proptest! {
        #[test]
        fn no_value_panics(ms in ".*", seconds in ".*") {
            let headers = [("retry-after-ms", ms.as_str()), ("retry-after", seconds.as_str())];
            let wait = parse_headers(&headers, SystemTime::UNIX_EPOCH);
            prop_assert!(wait.unwrap_or_default() <= MAX_DELAY);
        }
    }
}
