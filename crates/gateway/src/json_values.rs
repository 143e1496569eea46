//! Counts JSON values before a body is parsed.
//!
//! A codec turns each value of a list into a struct: `"",` takes three bytes in a body and a
//! few hundred once decoded. So the number of values is bounded before the first one is
//! allocated. The same count identifies bodies that take long to decode. Works on bytes,
//! whether or not they are valid JSON.

use memchr::{memchr_iter, memchr2};

/// Bodies with more values than this move to the heavy lane, whatever their size: the
/// costliest value takes about 250 ns to decode, so all other bodies take about a millisecond.
pub(crate) const HEAVY_VALUES: usize = 4_096;

/// Time for a byte of text, for the costliest value, and for an escape; each is above the
/// measured time.
const TEXT_NS: usize = 4;
const VALUE_NS: usize = 300;
const ESCAPE_NS: usize = 40;
const LETTERS_PER_SPACE: usize = 16;

/// An upper bound at memory speed: includes commas and brackets inside strings.
pub(crate) fn upper_bound(body: &[u8]) -> usize {
    let count = |byte| memchr_iter(byte, body).count();
    1 + count(b',') + count(b'[') + count(b'{')
}

/// An upper bound of the time that a body takes from its first byte to the last of the
/// upstream request, in nanoseconds, at memory speed. Text is cheap; values and escapes are
/// not.
pub(crate) fn nanoseconds(body: &[u8]) -> usize {
    let escapes = memchr_iter(b'\\', body).count();
    body.len() * TEXT_NS + upper_bound(body) * VALUE_NS + escapes * ESCAPE_NS
}

/// Whether a body is mostly prose, with a space every few letters. Base64 has no spaces, and
/// an image takes more work than its length suggests.
pub(crate) fn is_prose(body: &[u8]) -> bool {
    memchr_iter(b' ', body).count() * LETTERS_PER_SPACE >= body.len()
}

/// Whether a body holds more values than `most`.
pub(crate) fn exceed(body: &[u8], most: usize) -> bool {
    // Each value is at the start, or follows a comma or an opening bracket.
    body.len() >= most && upper_bound(body) > most && count_up_to(body, most) > most
}

/// Counts outside strings; stops beyond `most`.
fn count_up_to(body: &[u8], most: usize) -> usize {
    let mut count = 1;
    let mut at = 0;
    while let Some(byte) = body.get(at) {
        at += 1;
        match byte {
            b',' | b'[' | b'{' => {
                count += 1;
                if count > most {
                    break;
                }
            }
            b'"' => at = string_end(body, at),
            _ => {}
        }
    }
    count
}

/// The position after a string's closing quote, or the end of the body.
fn string_end(body: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr2(b'"', b'\\', &body[at..]) {
        at += found + 1;
        if body[at - 1] == b'"' {
            return at;
        }
        at = (at + 1).min(body.len());
    }
    body.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn values(json: &Value) -> usize {
        match json {
            Value::Array(list) => 1 + list.iter().map(values).sum::<usize>(),
            Value::Object(map) => 1 + map.values().map(values).sum::<usize>(),
            _ => 1,
        }
    }

    #[test]
    fn brackets_and_commas_inside_strings_are_not_values() {
        let body = br#"{"a":"[[[,,,{{{ \" ,","b\\":[1,"]"],"c":{}}"#;
        assert!(!exceed(body, 7));
        assert!(upper_bound(body) > 7);
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i32>().prop_map(Value::from),
            "[a-z\\[{,\"\\\\é]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map("[a-z,\"]{0,3}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// An empty container counts one value too many, never one too few.
        #[test]
        fn the_count_is_never_too_low(json in json()) {
            let body = json.to_string().into_bytes();
            let counted = count_up_to(&body, usize::MAX);
            prop_assert!(counted >= values(&json));
            prop_assert!(counted <= 2 * values(&json));
            prop_assert!(upper_bound(&body) >= counted);
        }

        #[test]
        fn any_bytes_are_counted_without_a_panic(body: Vec<u8>, most in 0usize..64) {
            prop_assert_eq!(exceed(&body, most), count_up_to(&body, usize::MAX) > most);
        }
    }
}
