//! JSON with comments and trailing commas, as claude-code-router reads it. Repeated keys
//! are kept.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::{MAX_NODES, Node};
use crate::ImportError;

pub(super) fn starts_with_object(text: &str) -> bool {
    plain(text).trim_start().starts_with('{')
}

pub(super) fn parse(text: &str) -> Result<Node, ImportError> {
    let text = plain(text);
    // Every node takes at least one character.
    if text
        .bytes()
        .filter(|byte| matches!(byte, b',' | b'[' | b'{'))
        .count()
        > MAX_NODES
    {
        return Err(ImportError::TooLarge);
    }
    serde_json::from_str(&text).map_err(|error| ImportError::Syntax {
        // The parser's own text may quote a value.
        reason: match error.classify() {
            serde_json::error::Category::Eof => "it ends too early".to_owned(),
            _ => "a quote, a comma or a bracket is missing or left over".to_owned(),
        },
        line: error.line(),
    })
}

/// The text with comments and trailing commas replaced by spaces, so that lines stay.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // The position of a comma that may be a trailing one.
    let mut comma = None;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match c {
            '"' => {
                length = quoted(rest);
                out.push_str(&rest[..length]);
                comma = None;
            }
            '/' if rest.starts_with("//") => {
                length = rest.find('\n').unwrap_or(rest.len());
            }
            '/' if rest.starts_with("/*") => {
                length = rest.find("*/").map_or(rest.len(), |end| end + 2);
                out.extend(rest[..length].chars().filter(|c| *c == '\n'));
            }
            _ => {
                if matches!(c, '}' | ']')
                    && let Some(at) = comma
                {
                    out.replace_range(at..at + 1, " ");
                }
                if c == ',' {
                    comma = Some(out.len());
                } else if !c.is_whitespace() {
                    comma = None;
                }
                out.push(c);
            }
        }
        rest = &rest[length..];
    }
    out
}

/// The length of the string at the beginning of a text.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Node, E> {
        Ok(Node::Flag(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Number(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Number(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Number(number.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Node::Map(map))
    }
}
