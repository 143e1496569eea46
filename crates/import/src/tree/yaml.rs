//! YAML, built from the parser's events. Aliases are copies; their nodes count.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::{MAX_DEPTH, MAX_NODES, Node};
use crate::ImportError;

/// A collection that is not complete.
struct Open {
    anchor: usize,
    entries: Vec<(String, Node)>,
    items: Vec<Node>,
    key: Option<String>,
    is_map: bool,
}

pub(super) fn parse(text: &str) -> Result<Node, ImportError> {
    let mut anchors: HashMap<usize, (Node, usize)> = HashMap::new();
    let mut open: Vec<Open> = Vec::new();
    let mut nodes = 0;
    let mut root = None;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| ImportError::Syntax {
            reason: error.info().to_owned(),
            line: error.marker().line(),
        })?;
        let (node, anchor) = match event {
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                if open.len() >= MAX_DEPTH {
                    return Err(ImportError::TooLarge);
                }
                open.push(Open {
                    anchor,
                    entries: Vec::new(),
                    items: Vec::new(),
                    key: None,
                    is_map: matches!(event, Event::MappingStart(..)),
                });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(done) = open.pop() else {
                    continue;
                };
                let node = match done.is_map {
                    true => Node::Map(merged(done.entries)),
                    false => Node::List(done.items),
                };
                (node, done.anchor)
            }
            Event::Scalar(value, style, anchor, _) => (scalar(&value, style), anchor),
            Event::Alias(anchor) => {
                // An alias inside its own anchor has no value yet.
                let Some((node, size)) = anchors.get(&anchor) else {
                    return Err(ImportError::Syntax {
                        reason: "an alias refers to itself".to_owned(),
                        line: span.start.line(),
                    });
                };
                nodes += size;
                if nodes > MAX_NODES {
                    return Err(ImportError::TooLarge);
                }
                (node.clone(), 0)
            }
            _ => continue,
        };
        nodes += 1;
        if nodes > MAX_NODES {
            return Err(ImportError::TooLarge);
        }
        if anchor > 0 {
            let size = size(&node);
            anchors.insert(anchor, (node.clone(), size));
            nodes += size;
        }
        match open.last_mut() {
            // Only the first document counts, as in the original program.
            None => {
                root.get_or_insert(node);
            }
            Some(parent) if !parent.is_map => parent.items.push(node),
            Some(parent) => match parent.key.take() {
                Some(key) => parent.entries.push((key, node)),
                None => parent.key = Some(key_of(&node)),
            },
        }
    }
    Ok(root.unwrap_or(Node::Null))
}

fn size(node: &Node) -> usize {
    1 + match node {
        Node::List(items) => items.iter().map(size).sum::<usize>(),
        Node::Map(entries) => entries.iter().map(|(_, node)| size(node)).sum(),
        _ => 0,
    }
}

/// Entries of `<<` apply unless the map has its own.
fn merged(entries: Vec<(String, Node)>) -> Vec<(String, Node)> {
    let mut own: Vec<(String, Node)> = Vec::new();
    let mut bases: Vec<Node> = Vec::new();
    for (key, value) in entries {
        match value {
            Node::List(items) if key == "<<" => bases.extend(items),
            value if key == "<<" => bases.push(value),
            value => own.push((key, value)),
        }
    }
    for base in bases {
        match base {
            Node::Map(entries) => {
                for (key, value) in entries {
                    if !own.iter().any(|(name, _)| *name == key) {
                        own.push((key, value));
                    }
                }
            }
            other => own.push(("<<".to_owned(), other)),
        }
    }
    own
}

fn key_of(node: &Node) -> String {
    match node {
        Node::Text(text) | Node::Number(text) => text.clone(),
        Node::Flag(flag) => flag.to_string(),
        Node::Null => "null".to_owned(),
        Node::List(_) | Node::Map(_) => "a collection as a key".to_owned(),
    }
}

/// The core schema, plus the words of YAML 1.1 that LiteLLM's parser reads as booleans.
fn scalar(value: &str, style: ScalarStyle) -> Node {
    if style != ScalarStyle::Plain {
        return Node::Text(value.to_owned());
    }
    match value {
        "" | "~" | "null" | "Null" | "NULL" => Node::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Node::Flag(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => {
            Node::Flag(false)
        }
        other if is_number(other) => Node::Number(other.replace('_', "")),
        other => Node::Text(other.to_owned()),
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let numeric = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits.contains(|c: char| c.is_ascii_digit());
    numeric
        && text
            .replace('_', "")
            .parse::<f64>()
            .is_ok_and(f64::is_finite)
}
