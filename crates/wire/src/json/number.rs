//! JSON numbers (RFC 8259 §6): validation, and conversion to the field's type.

use super::{Fault, ReadResult};

/// Validates the number at `at` and returns its end.
pub(super) fn skip(bytes: &[u8], at: usize) -> ReadResult<usize> {
    let digits = |mut pos: usize| {
        while matches!(bytes.get(pos), Some(b'0'..=b'9')) {
            pos += 1;
        }
        pos
    };
    let some_digits = |pos: usize| match digits(pos) {
        end if end > pos => Ok(end),
        _ => Err(Fault {
            at,
            what: "not a JSON number".into(),
        }),
    };
    let start = at + usize::from(bytes.get(at) == Some(&b'-'));
    let mut end = match bytes.get(start) {
        Some(b'0') => start + 1,
        _ => some_digits(start)?,
    };
    if bytes.get(end) == Some(&b'.') {
        end = some_digits(end + 1)?;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        end = some_digits(end + 1 + sign)?;
    }
    Ok(end)
}

/// Parses a non-negative integer; accepts `12.0`.
pub(super) fn unsigned(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| {
        let value: f64 = text.parse().ok()?;
        let whole = value.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&value);
        whole.then_some(value as u64)
    })
}

/// Parses an integer; accepts `-3.0`.
pub(super) fn signed(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| {
        let value: f64 = text.parse().ok()?;
        let whole = value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0;
        whole.then_some(value as i64)
    })
}
