//! Reads as much as there is of a JSON text that is still being written.
//!
//! Strings show as far as they came; numbers and words only when they are
//! complete, since `1` may yet become `12`.

use serde_json::{Map, Value};

/// Deeper texts are not shown before they are whole.
const DEEPEST: usize = 64;

/// What the text holds so far; white space, prose and a code fence before the
/// first bracket are passed over.
pub(super) fn read(text: &str) -> Option<Value> {
    let start = text.find(['{', '['])?;
    let mut reader = Reader {
        rest: &text[start..],
    };
    match reader.value(DEEPEST) {
        Piece::Whole(value) | Piece::Cut(Some(value)) => Some(value),
        Piece::Cut(None) => None,
    }
}

/// A value that ended, or what was there when the text did.
enum Piece {
    Whole(Value),
    Cut(Option<Value>),
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Piece {
        let Some(depth) = depth.checked_sub(1) else {
            return Piece::Cut(None);
        };
        match self.peek() {
            Some('{') => self.object(depth),
            Some('[') => self.array(depth),
            Some('"') => self.string(),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Piece {
        let mut object = Map::new();
        self.skip(1);
        loop {
            match self.peek() {
                Some('}') => {
                    self.skip(1);
                    return Piece::Whole(Value::Object(object));
                }
                Some(',') => self.skip(1),
                Some('"') => {
                    let Piece::Whole(Value::String(key)) = self.string() else {
                        break;
                    };
                    if self.peek() != Some(':') {
                        break;
                    }
                    self.skip(1);
                    match self.value(depth) {
                        Piece::Whole(value) => {
                            object.insert(key, value);
                        }
                        Piece::Cut(value) => {
                            object.extend(value.map(|value| (key, value)));
                            break;
                        }
                    }
                }
                _ => break,
            }
        }
        Piece::Cut(Some(Value::Object(object)))
    }

    fn array(&mut self, depth: usize) -> Piece {
        let mut list = Vec::new();
        self.skip(1);
        loop {
            match self.peek() {
                Some(']') => {
                    self.skip(1);
                    return Piece::Whole(Value::Array(list));
                }
                Some(',') => self.skip(1),
                None => break,
                Some(_) => match self.value(depth) {
                    Piece::Whole(value) => list.push(value),
                    Piece::Cut(value) => {
                        list.extend(value);
                        break;
                    }
                },
            }
        }
        Piece::Cut(Some(Value::Array(list)))
    }

    fn string(&mut self) -> Piece {
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
                    return read.map_or(Piece::Cut(None), Piece::Whole);
                }
                _ => {}
            }
        }
        self.rest = "";
        Piece::Cut(unfinished_string(inside))
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Piece {
        let Some(end) = self.rest.find([',', '}', ']', ' ', '\n', '\r', '\t']) else {
            self.rest = "";
            return Piece::Cut(None);
        };
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        serde_json::from_str(word).map_or(Piece::Cut(None), Piece::Whole)
    }

    /// The next character that is not white space.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    /// Passes over ASCII characters.
    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }
}

/// A string without its end, and without an escape that was cut. A surrogate
/// pair is two escapes, so the second try may drop one more.
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
    fn a_growing_text_shows_what_is_certain() {
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
            assert_eq!(read(text), value, "{text}");
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

    /// Whether everything shown is there in the end as well.
    fn begins(part: &Value, whole: &Value) -> bool {
        match (part, whole) {
            (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
            (Value::Array(part), Value::Array(whole)) => {
                part.len() <= whole.len() && part.iter().zip(whole).all(|(p, w)| begins(p, w))
            }
            (Value::Object(part), Value::Object(whole)) => part
                .iter()
                .all(|(key, p)| whole.get(key).is_some_and(|w| begins(p, w))),
            (part, whole) => part == whole,
        }
    }

    proptest! {
        #[test]
        fn every_beginning_of_a_text_shows_a_beginning_of_its_value(
            value in any_json(),
            cut in any::<prop::sample::Index>(),
        ) {
            let text = value.to_string();
            prop_assert_eq!(read(&text), Some(value.clone()));
            let part = read(crate::head::head(&text, cut.index(text.len() + 1)));
            prop_assert!(part.is_none_or(|part| begins(&part, &value)));
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = read(&format!("[{text}"));
        }
    }
}
