//! JSON strings (RFC 8259 §7), copied only if they contain escapes.

use std::borrow::Cow;

use memchr::memchr2;

use super::{Fault, ReadResult};

/// Reads the string whose opening quote precedes `at`; returns its value and
/// its end.
pub(super) fn read_string(text: &str, at: usize) -> ReadResult<(Cow<'_, str>, usize)> {
    let bytes = text.as_bytes();
    let stop = find_stop(bytes, at)?;
    check_plain(bytes, at, stop)?;
    if bytes[stop] == b'"' {
        return Ok((Cow::Borrowed(&text[at..stop]), stop + 1));
    }
    // Most escapes shrink the text, so this is rarely too small.
    let mut value = String::with_capacity((stop - at) * 2 + 64);
    let mut start = at;
    let mut stop = stop;
    loop {
        value.push_str(&text[start..stop]);
        if bytes[stop] == b'"' {
            return Ok((Cow::Owned(value), stop + 1));
        }
        start = unescape(bytes, stop + 1, &mut value)?;
        stop = find_stop(bytes, start)?;
        check_plain(bytes, start, stop)?;
    }
}

/// Validates the string whose opening quote precedes `at`; returns its end.
pub(super) fn skip(bytes: &[u8], mut at: usize) -> ReadResult<usize> {
    loop {
        let stop = find_stop(bytes, at)?;
        check_plain(bytes, at, stop)?;
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

/// Finds the next quote or backslash.
fn find_stop(bytes: &[u8], at: usize) -> ReadResult<usize> {
    // Keys and runs between escapes are usually short.
    let near = bytes.len().min(at + 16);
    for (offset, byte) in bytes[at..near].iter().enumerate() {
        if matches!(byte, b'"' | b'\\') {
            return Ok(at + offset);
        }
    }
    match memchr2(b'"', b'\\', &bytes[near..]) {
        Some(offset) => Ok(near + offset),
        None => Err(Fault {
            at: bytes.len(),
            what: "unterminated string".into(),
        }),
    }
}

/// Rejects unescaped control characters. The fold compiles to vector
/// instructions: a megabyte of base64 passes through here.
fn check_plain(bytes: &[u8], start: usize, end: usize) -> ReadResult<()> {
    let run = &bytes[start..end];
    let smallest = |chunk: &[u8]| chunk.iter().fold(u8::MAX, |least, byte| least.min(*byte));
    if run.chunks(1024).all(|chunk| smallest(chunk) >= 0x20) {
        return Ok(());
    }
    let offset = run.iter().position(|byte| *byte < 0x20).unwrap_or(0);
    Err(Fault {
        at: start + offset,
        what: "unescaped control character in a string".into(),
    })
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
