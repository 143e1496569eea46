//! Counts JSON values before a body is parsed.
//!
//! A codec turns each value of a list into a struct: `"",` takes three bytes in a body and a
//! few hundred once decoded. So the number of values is bounded before the first one is
//! allocated. The same count identifies bodies that take long to decode. Works on bytes,
//! whether or not they are valid JSON.

use memchr::memchr2;

/// Bodies with more values than this move to the heavy lane, whatever their size: the
/// costliest value takes about 250 ns to decode, so all other bodies take about a millisecond.
pub(crate) const HEAVY_VALUES: usize = 4_096;

/// Time for a byte of text, for the costliest value, and for an escape; each is above the
/// measured time.
const TEXT_NS: usize = 4;
const VALUE_NS: usize = 300;
const ESCAPE_NS: usize = 40;
const LETTERS_PER_SPACE: usize = 16;
/// Bytes that are counted together.
const LANE: usize = 16;

/// The bytes of a body that tell how long it takes.
#[derive(Clone, Copy, Default)]
pub(crate) struct ByteCounts {
    bytes: usize,
    /// Commas and opening brackets, inside strings too.
    separators: usize,
    backslashes: usize,
    spaces: usize,
}

impl ByteCounts {
    /// Counts at memory speed.
    pub(crate) fn of(body: &[u8]) -> Self {
        let mut sum = Self::default();
        // A column counts up to 255.
        for block in body.chunks(LANE * usize::from(u8::MAX)) {
            let (lanes, tail) = block.as_chunks();
            sum.add(lanes);
            let mut last = [0; LANE];
            last[..tail.len()].copy_from_slice(tail);
            sum.add(&[last]);
        }
        sum.bytes = body.len();
        sum
    }

    /// In columns, so that it compiles to vector instructions.
    fn add(&mut self, lanes: &[[u8; LANE]]) {
        let mut separators = [0u8; LANE];
        let mut backslashes = [0u8; LANE];
        let mut spaces = [0u8; LANE];
        for lane in lanes {
            for (column, byte) in lane.iter().enumerate() {
                // `[` and `{` differ in one bit.
                let separator = *byte == b',' || *byte | 0x20 == b'{';
                separators[column] += u8::from(separator);
                backslashes[column] += u8::from(*byte == b'\\');
                spaces[column] += u8::from(*byte == b' ');
            }
        }
        let total = |columns: [u8; LANE]| columns.into_iter().map(usize::from).sum::<usize>();
        self.separators += total(separators);
        self.backslashes += total(backslashes);
        self.spaces += total(spaces);
    }

    /// An upper bound of the number of values.
    pub(crate) fn values(&self) -> usize {
        1 + self.separators
    }

    /// An upper bound of the time that a body takes from its first byte to the last of the
    /// upstream request, in nanoseconds. Text is cheap; values and escapes are not.
    pub(crate) fn nanoseconds(&self) -> usize {
        self.bytes * TEXT_NS + self.values() * VALUE_NS + self.backslashes * ESCAPE_NS
    }

    /// Whether a body is mostly prose, with a space every few letters. Base64 has no spaces, and
    /// an image takes more work than its length suggests.
    pub(crate) fn is_prose(&self) -> bool {
        self.spaces * LETTERS_PER_SPACE >= self.bytes
    }
}

/// Whether a body holds more values than `most`.
pub(crate) fn exceed(body: &[u8], most: usize) -> bool {
    // Each value is at the start, or follows a comma or an opening bracket.
    body.len() >= most && ByteCounts::of(body).values() > most && count_up_to(body, most) > most
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
        assert!(ByteCounts::of(body).values() > 7);
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
            prop_assert!(ByteCounts::of(&body).values() >= counted);
        }

        #[test]
        fn bytes_are_counted_wherever_they_stand(
            body in prop::collection::vec(prop::sample::select(b",[{\\ ;k\xdb".to_vec()), 0..9_000)
        ) {
            let count = |of: &[u8]| body.iter().filter(|byte| of.contains(byte)).count();
            let counts = ByteCounts::of(&body);
            prop_assert_eq!(counts.separators, count(b",[{"));
            prop_assert_eq!(counts.backslashes, count(b"\\"));
            prop_assert_eq!(counts.spaces, count(b" "));
        }

        #[test]
        fn any_bytes_are_counted_without_a_panic(body: Vec<u8>, most in 0usize..64) {
            prop_assert_eq!(exceed(&body, most), count_up_to(&body, usize::MAX) > most);
        }
    }
}
