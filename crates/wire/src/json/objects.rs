//! Finds the objects of a JSON text in one pass.
//!
//! Nothing is copied and no tree is built: an object is its span and the spans of the
//! requested fields, so a walk needs memory proportional to the depth, not to the text.
//! The text must be valid JSON; otherwise the spans are meaningless, but nothing panics.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2;

/// A completed object.
pub(crate) struct JsonObject<'a, const N: usize> {
    raw: &'a str,
    /// Its bytes.
    pub(crate) span: Range<usize>,
    /// Number of enclosing objects and arrays.
    pub(crate) depth: usize,
    fields: [Option<Range<usize>>; N],
}

impl<'a, const N: usize> JsonObject<'a, N> {
    /// The span of a field's first value, by index into the requested names; empty for a
    /// number or a literal.
    pub(crate) fn span_of(&self, name: usize) -> Option<Range<usize>> {
        self.fields.get(name)?.clone()
    }

    /// Its text.
    pub(crate) fn text(&self) -> &'a str {
        self.raw.get(self.span.clone()).unwrap_or_default()
    }

    /// The text of that value.
    pub(crate) fn field(&self, name: usize) -> Option<&'a str> {
        self.raw.get(self.span_of(name)?)
    }
}

struct OpenContainer<const N: usize> {
    start: usize,
    is_object: bool,
    expects_key: bool,
    /// The requested field whose value comes next.
    pending: Option<usize>,
    fields: [Option<Range<usize>>; N],
}

impl<const N: usize> OpenContainer<N> {
    fn new(start: usize, is_object: bool) -> Self {
        Self {
            start,
            is_object,
            expects_key: is_object,
            pending: None,
            fields: [const { None }; N],
        }
    }

    fn value(&mut self, span: Range<usize>) {
        if let Some(field) = self
            .pending
            .take()
            .and_then(|name| self.fields.get_mut(name))
        {
            *field = Some(span);
        }
    }
}

/// Reports every object as it ends, inner ones first.
pub(crate) fn walk<'a, const N: usize>(
    raw: &'a str,
    names: &[&str; N],
    mut each: impl FnMut(JsonObject<'a, N>),
) {
    let bytes = raw.as_bytes();
    let mut open: Vec<OpenContainer<N>> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let begin = at;
        at += 1;
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                let Some(frame) = open.last_mut() else {
                    continue;
                };
                if frame.expects_key {
                    frame.expects_key = false;
                    let key = raw.get(begin..at).and_then(text);
                    let name = key.and_then(|key| names.iter().position(|name| *name == key));
                    frame.pending = name.filter(|name| frame.fields[*name].is_none());
                } else {
                    frame.value(begin..at);
                }
            }
            b'{' | b'[' => open.push(OpenContainer::new(begin, byte == b'{')),
            b',' => {
                if let Some(frame) = open.last_mut() {
                    frame.value(0..0);
                    frame.expects_key = frame.is_object;
                }
            }
            b'}' | b']' => {
                let Some(mut frame) = open.pop() else {
                    continue;
                };
                frame.value(0..0);
                let span = frame.start..at;
                if let Some(outer) = open.last_mut() {
                    outer.value(span.clone());
                }
                if frame.is_object {
                    each(JsonObject {
                        raw,
                        span,
                        depth: open.len(),
                        fields: frame.fields,
                    });
                }
            }
            _ => {}
        }
    }
}

/// The fields of a text that is one object.
pub(crate) fn fields<'a, const N: usize>(
    raw: &'a str,
    names: &[&str; N],
) -> Option<JsonObject<'a, N>> {
    let mut outermost = None;
    walk(raw, names, |object| outermost = Some(object));
    outermost.filter(|object| object.depth == 0)
}

/// The index after the quote that ends a string.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found + 1;
        if bytes.get(at - 1) == Some(&b'"') {
            return at;
        }
        // An escaped character does not end the string.
        at += 1;
    }
    bytes.len()
}

/// Decodes a JSON string; borrowed unless it contains escapes.
pub(crate) fn text(raw: &str) -> Option<Cow<'_, str>> {
    match serde_json::from_str::<&str>(raw) {
        Ok(text) => Some(Cow::Borrowed(text)),
        Err(_) => serde_json::from_str(raw).ok().map(Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn objects_are_reported_inside_out_with_the_requested_fields() {
        let raw = r#" { "a" : [ {"b":"x\"}"}, 1 ] , "\u0062" : { } , "b" : 2, "c":null } "#;
        let mut seen = Vec::new();
        walk(raw, &["b", "c"], |object| {
            let fields = [0, 1].map(|name| object.field(name).map(str::to_owned));
            seen.push((raw[object.span.clone()].to_owned(), object.depth, fields));
        });
        let texts: Vec<_> = seen
            .iter()
            .map(|(text, depth, _)| (text.as_str(), *depth))
            .collect();
        assert_eq!(texts[..2], [(r#"{"b":"x\"}"}"#, 2), ("{ }", 1)]);
        assert_eq!(texts[2].0, raw.trim());
        // The first of two duplicates counts, and a literal has no text.
        assert_eq!(seen[2].2, [Some("{ }".to_owned()), Some(String::new())]);
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i32>().prop_map(Value::from),
            r#"[a-c{}\[\]",:\\é ]{0,6}"#.prop_map(Value::String),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            let key = r#"[ab"\\{é]{0,2}"#;
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
                prop::collection::vec((key, inner), 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn objects(value: &Value, found: &mut Vec<Value>) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| objects(value, found)),
            Value::Object(fields) => {
                fields.values().for_each(|value| objects(value, found));
                found.push(value.clone());
            }
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn every_object_and_its_fields_agree_with_a_parser(value in json(), pretty: bool) {
            let raw = if pretty {
                serde_json::to_string_pretty(&value).unwrap()
            } else {
                value.to_string()
            };
            let mut expected = Vec::new();
            objects(&value, &mut expected);
            let mut seen = Vec::new();
            walk(&raw, &["a", "b"], |object| {
                let whole: Value = serde_json::from_str(&raw[object.span.clone()]).unwrap();
                for (at, name) in ["a", "b"].iter().enumerate() {
                    let field = object.field(at).filter(|text| !text.is_empty());
                    let field = field.map(|text| serde_json::from_str::<Value>(text).unwrap());
                    let there = whole.get(name).filter(|v| v.is_string() || v.is_array() || v.is_object());
                    assert_eq!(field.as_ref(), there);
                }
                seen.push(whole);
            });
            prop_assert_eq!(seen, expected);
        }

        #[test]
        fn no_text_causes_a_panic(raw in ".{0,60}") {
            walk(&raw, &["a"], |_| {});
        }
    }
}
