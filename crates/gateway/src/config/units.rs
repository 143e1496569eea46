//! Parses sizes and durations: `32MiB`, `30m`.

use std::time::Duration;

/// Units of sizes; a unit comes before its own suffix.
const SIZES: [(&str, u64); 10] = [
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("b", 1),
];

/// Parses a size in bytes: `4MB` is 4,000,000; `4MiB` and `4M` are 4,194,304.
pub(super) fn size(text: &str) -> Option<u64> {
    let text = text.trim().to_lowercase();
    let unit = SIZES.iter().find(|(name, _)| text.ends_with(name));
    let (number, factor) = match unit {
        Some((name, factor)) => (&text[..text.len() - name.len()], *factor),
        None => (text.as_str(), 1),
    };
    let number = number.trim();
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let plain = |c: char| c.is_ascii_digit() || c == '.';
    let fraction: f64 = number.parse().ok().filter(|_| number.chars().all(plain))?;
    let bytes = fraction * factor as f64;
    (bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// Maximum duration; `Instant` arithmetic does not overflow below it.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 86_400);

/// Parses a duration: `500ms`, `30s`, `1h 30m`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let duration = humantime::parse_duration(text.trim()).ok()?;
    (duration <= LONGEST).then_some(duration)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_have_decimal_and_binary_units() {
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("512B", 512),
            ("4MB", 4_000_000),
            ("4 mb", 4_000_000),
            ("32MiB", 32 << 20),
            ("1.5KiB", 1_536),
            ("2g", 2 << 30),
        ] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in [
            "",
            "MB",
            "-1",
            "4 lakh",
            "1e3",
            "nan",
            "inf",
            "99999999999GiB",
        ] {
            assert_eq!(size(text), None, "{text}");
        }
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("30m"), Some(Duration::from_secs(1_800)));
        assert_eq!(duration("1h 30m"), Some(Duration::from_secs(5_400)));
        for text in ["", "30", "soon", "-1s", "4000years"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_size_or_duration_panics(text in ".*", number in "[0-9.]{0,30}", unit in "[a-zA-Z]{0,3}") {
            let _ = (size(&text), duration(&text));
            let _ = (size(&format!("{number}{unit}")), duration(&format!("{number}{unit}")));
        }
    }
}
