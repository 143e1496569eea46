//! JSON strings (RFC 8259 §7), copied only if they contain escapes.

use std::borrow::Cow;

use memchr::memchr_iter;

use super::plain::run_end;
use super::{Fault, ReadResult};

/// Reads the string whose opening quote precedes `at`; returns its value and
/// its end.
pub(super) fn read_string(text: &str, at: usize) -> ReadResult<(Cow<'_, str>, usize)> {
    let bytes = text.as_bytes();
    let mut stop = find_stop(bytes, at)?;
    if bytes[stop] == b'"' {
        return Ok((Cow::Borrowed(&text[at..stop]), stop + 1));
    }
    // Escapes only shrink, so the value never grows beyond its source.
    let mut value = String::with_capacity(closing_quote(bytes, stop) - at);
    let mut start = at;
    loop {
        value.push_str(&text[start..stop]);
        if bytes[stop] == b'"' {
            return Ok((Cow::Owned(value), stop + 1));
        }
        start = unescape(bytes, stop + 1, &mut value)?;
        stop = find_stop(bytes, start)?;
    }
}

/// Validates the rest of a string from `at` on; returns its end.
pub(super) fn skip(bytes: &[u8], mut at: usize) -> ReadResult<usize> {
    loop {
        let stop = find_stop(bytes, at)?;
        if bytes[stop] == b'"' {
            return Ok(stop + 1);
        }
        at = match bytes.get(stop + 1) {
            Some(b'u') => hex(bytes, stop + 2).map(|_| stop + 6)?,
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => stop + 2,
            _ => return Err(bad_escape(stop)),
        };
    }
}

/// The quote that ends a string, from its first backslash on: the first one after an even
/// number of backslashes. The length of `bytes` if there is none.
fn closing_quote(bytes: &[u8], from: usize) -> usize {
    let rest = &bytes[from..];
    let backslashes = |quote: usize| {
        let before = rest[..quote].iter().rev();
        before.take_while(|byte| **byte == b'\\').count()
    };
    let end = memchr_iter(b'"', rest).find(|quote| backslashes(*quote) % 2 == 0);
    from + end.unwrap_or(rest.len())
}

/// Finds the next quote or backslash.
fn find_stop(bytes: &[u8], at: usize) -> ReadResult<usize> {
    let stop = run_end(bytes, at);
    match bytes.get(stop) {
        Some(b'"' | b'\\') => Ok(stop),
        found => Err(Fault {
            at: stop,
            what: match found {
                None => "unterminated string".into(),
                Some(_) => "unescaped control character in a string".into(),
            },
        }),
    }
}

/// Decodes the escape after the backslash at `at - 1`; returns its end.
fn unescape(bytes: &[u8], at: usize, value: &mut String) -> ReadResult<usize> {
    let plain = match bytes.get(at) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unescape_unicode(bytes, at + 1, value),
        _ => return Err(bad_escape(at - 1)),
    };
    value.push(plain);
    Ok(at + 1)
}

/// A lone surrogate, which JavaScript can send, becomes U+FFFD.
fn unescape_unicode(bytes: &[u8], at: usize, value: &mut String) -> ReadResult<usize> {
    let first = hex(bytes, at)?;
    let mut end = at + 4;
    let mut code = first;
    if (0xd800..0xdc00).contains(&first) && bytes[end..].starts_with(b"\\u") {
        let second = hex(bytes, end + 2)?;
        if (0xdc00..0xe000).contains(&second) {
            code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            end += 6;
        }
    }
    value.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
    Ok(end)
}

fn hex(bytes: &[u8], at: usize) -> ReadResult<u32> {
    let digits = bytes.get(at..at + 4).ok_or_else(|| bad_escape(at))?;
    digits.iter().try_fold(0, |code, digit| {
        let value = char::from(*digit).to_digit(16);
        value
            .map(|value| code * 16 + value)
            .ok_or_else(|| bad_escape(at))
    })
}

fn bad_escape(at: usize) -> Fault {
    Fault {
        at,
        what: "invalid escape sequence".into(),
    }
}
