//! Lenient parsing of unfinished JSON.
//!
//! Strings are returned as far as received. Numbers and literals are returned only when
//! complete, since `1` may become `12`.

use serde_json::{Map, Value};

/// Maximum nesting depth; deeper values are omitted.
const MAX_DEPTH: usize = 64;

/// Parses the value so far, skipping anything before the first bracket.
pub(super) fn parse(text: &str) -> Option<Value> {
    let start = text.find(['{', '['])?;
    let mut parser = PartialJsonParser {
        rest: &text[start..],
    };
    match parser.value(MAX_DEPTH) {
        PartialValue::Complete(value) | PartialValue::Truncated(Some(value)) => Some(value),
        PartialValue::Truncated(None) => None,
    }
}

/// A complete value, or the part of it that was received.
enum PartialValue {
    Complete(Value),
    Truncated(Option<Value>),
}

struct PartialJsonParser<'a> {
    rest: &'a str,
}

impl PartialJsonParser<'_> {
    fn value(&mut self, depth: usize) -> PartialValue {
        let Some(depth) = depth.checked_sub(1) else {
            return PartialValue::Truncated(None);
        };
        match self.peek() {
            Some('{') => self.object(depth),
            Some('[') => self.array(depth),
            Some('"') => self.string(),
            _ => self.literal(),
        }
    }

    fn object(&mut self, depth: usize) -> PartialValue {
        let mut object = Map::new();
        self.skip(1);
        loop {
            match self.peek() {
                Some('}') => {
                    self.skip(1);
                    return PartialValue::Complete(Value::Object(object));
                }
                Some(',') => self.skip(1),
                Some('"') => {
                    let PartialValue::Complete(Value::String(key)) = self.string() else {
                        break;
                    };
                    if self.peek() != Some(':') {
                        break;
                    }
                    self.skip(1);
                    match self.value(depth) {
                        PartialValue::Complete(value) => {
                            object.insert(key, value);
                        }
                        PartialValue::Truncated(value) => {
                            object.extend(value.map(|value| (key, value)));
                            break;
                        }
                    }
                }
                _ => break,
            }
        }
        PartialValue::Truncated(Some(Value::Object(object)))
    }

    fn array(&mut self, depth: usize) -> PartialValue {
        let mut list = Vec::new();
        self.skip(1);
        loop {
            match self.peek() {
                Some(']') => {
                    self.skip(1);
                    return PartialValue::Complete(Value::Array(list));
                }
                Some(',') => self.skip(1),
                None => break,
                Some(_) => match self.value(depth) {
                    PartialValue::Complete(value) => list.push(value),
                    PartialValue::Truncated(value) => {
                        list.extend(value);
                        break;
                    }
                },
            }
        }
        PartialValue::Truncated(Some(Value::Array(list)))
    }

    fn string(&mut self) -> PartialValue {
        let mut escaped = false;
        let inside = &self.rest[1..];
        for (at, c) in inside.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => {
                    let whole = &self.rest[..at + 2];
                    self.rest = &inside[at + 1..];
                    let read = serde_json::from_str(whole);
                    return read.map_or(PartialValue::Truncated(None), PartialValue::Complete);
                }
                _ => {}
            }
        }
        self.rest = "";
        PartialValue::Truncated(unfinished_string(inside))
    }

    /// A number, `true`, `false` or `null`.
    fn literal(&mut self) -> PartialValue {
        let Some(end) = self.rest.find([',', '}', ']', ' ', '\n', '\r', '\t']) else {
            self.rest = "";
            return PartialValue::Truncated(None);
        };
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        serde_json::from_str(word).map_or(PartialValue::Truncated(None), PartialValue::Complete)
    }

    /// Skips whitespace and returns the next character.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    /// Skips ASCII characters.
    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }
}

/// Parses a string without its end, dropping an incomplete escape. A surrogate pair is
/// two escapes, so up to two are dropped.
fn unfinished_string(mut inside: &str) -> Option<Value> {
    for _ in 0..3 {
        if let Ok(text) = serde_json::from_str::<String>(&format!("\"{inside}\"")) {
            return Some(Value::String(text));
        }
        inside = &inside[..inside.rfind('\\')?];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn an_unfinished_text_yields_its_certain_content() {
        for (text, value) in [
            ("", None),
            ("Sure! ```json\n", None),
            ("```json\n{", Some(json!({}))),
            (r#"{"na"#, Some(json!({}))),
            (r#"{"name""#, Some(json!({}))),
            (r#"{"name":"#, Some(json!({}))),
            (r#"{"name":"A"#, Some(json!({"name": "A"}))),
            (r#"{"name":"Ada","age":3"#, Some(json!({"name": "Ada"}))),
            (r#"{"age":36,"ok":tru"#, Some(json!({"age": 36}))),
            (r#"[1,[2,{"a":"x\"#, Some(json!([1, [2, {"a": "x"}]]))),
            (r#"["\ud83d\ude"#, Some(json!([""]))),
            (r#"["\ud83d\ude00!"#, Some(json!(["😀!"]))),
            (r#"{"a":1} done"#, Some(json!({"a": 1}))),
        ] {
            assert_eq!(parse(text), value, "{text}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        let inner = leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        });
        prop::collection::vec(inner, 0..5).prop_map(Value::from)
    }

    /// Returns `true` if `part` is a prefix of `whole`.
    fn is_prefix(part: &Value, whole: &Value) -> bool {
        match (part, whole) {
            (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
            (Value::Array(part), Value::Array(whole)) => {
                part.len() <= whole.len() && part.iter().zip(whole).all(|(p, w)| is_prefix(p, w))
            }
            (Value::Object(part), Value::Object(whole)) => part
                .iter()
                .all(|(key, p)| whole.get(key).is_some_and(|w| is_prefix(p, w))),
            (part, whole) => part == whole,
        }
    }

    proptest! {
        #[test]
        fn every_prefix_of_a_text_yields_a_prefix_of_its_value(
            value in any_json(),
            cut in any::<prop::sample::Index>(),
        ) {
            let text = value.to_string();
            prop_assert_eq!(parse(&text), Some(value.clone()));
            let part = parse(crate::char_prefix::char_prefix(&text, cut.index(text.len() + 1)));
            prop_assert!(part.is_none_or(|part| is_prefix(&part, &value)));
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = parse(&format!("[{text}"));
        }
    }
}
