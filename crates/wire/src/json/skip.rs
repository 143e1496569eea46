//! Skips a value, validating its whole grammar.
//!
//! Not recursive: each open container is one bit, so nesting cannot exhaust the
//! stack, and [`MAX_DEPTH`] is the width of the bit set.

use super::{Fault, MAX_DEPTH, ReadResult, number, string};

/// Validates the value at `at`, inside `depth` open containers, and returns its
/// end.
pub(super) fn value(bytes: &[u8], mut at: usize, depth: usize) -> ReadResult<usize> {
    let mut objects: u128 = 0;
    let mut open = 0;
    loop {
        at = whitespace(bytes, at);
        let entered = match bytes.get(at) {
            Some(b'"') => {
                at = string::skip(bytes, at + 1)?;
                false
            }
            Some(container @ (b'{' | b'[')) => {
                if depth + open >= MAX_DEPTH {
                    return Err(too_deep(at));
                }
                let is_object = *container == b'{';
                let close = if is_object { b'}' } else { b']' };
                at = whitespace(bytes, at + 1);
                if bytes.get(at) == Some(&close) {
                    at += 1;
                    false
                } else {
                    objects = objects << 1 | u128::from(is_object);
                    open += 1;
                    if is_object {
                        at = key(bytes, at)?;
                    }
                    true
                }
            }
            _ => {
                at = scalar(bytes, at)?;
                false
            }
        };
        if entered {
            continue;
        }
        // A value is complete: continue with the next one, or leave its
        // containers.
        loop {
            if open == 0 {
                return Ok(at);
            }
            let in_object = objects & 1 == 1;
            at = whitespace(bytes, at);
            match bytes.get(at) {
                Some(b',') if in_object => {
                    at = key(bytes, whitespace(bytes, at + 1))?;
                    break;
                }
                Some(b',') => {
                    at += 1;
                    break;
                }
                Some(b'}') if in_object => {}
                Some(b']') if !in_object => {}
                _ => return Err(unexpected(bytes, at, "a comma or the end")),
            }
            at += 1;
            objects >>= 1;
            open -= 1;
        }
    }
}

pub(super) fn whitespace(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

/// Skips a key and its colon.
fn key(bytes: &[u8], at: usize) -> ReadResult<usize> {
    if bytes.get(at) != Some(&b'"') {
        return Err(unexpected(bytes, at, "a key"));
    }
    colon(bytes, string::skip(bytes, at + 1)?)
}

pub(super) fn colon(bytes: &[u8], at: usize) -> ReadResult<usize> {
    let at = whitespace(bytes, at);
    match bytes.get(at) {
        Some(b':') => Ok(at + 1),
        _ => Err(unexpected(bytes, at, "a colon")),
    }
}

fn scalar(bytes: &[u8], at: usize) -> ReadResult<usize> {
    let rest = &bytes[at.min(bytes.len())..];
    let word = ["true", "false", "null"]
        .iter()
        .find(|word| rest.starts_with(word.as_bytes()));
    match (word, rest.first()) {
        (Some(word), _) => Ok(at + word.len()),
        (None, Some(b'-' | b'0'..=b'9')) => number::skip(bytes, at),
        _ => Err(unexpected(bytes, at, "a value")),
    }
}

pub(super) fn too_deep(at: usize) -> Fault {
    Fault {
        at,
        what: format!("nested deeper than {MAX_DEPTH} levels").into(),
    }
}

pub(super) fn unexpected(bytes: &[u8], at: usize, wanted: &str) -> Fault {
    let found = match bytes.get(at) {
        None => "the end of the input".to_owned(),
        Some(byte) if byte.is_ascii_graphic() => format!("`{}`", char::from(*byte)),
        Some(_) => "an unexpected byte".to_owned(),
    };
    Fault {
        at,
        what: format!("expected {wanted}, found {found}").into(),
    }
}
