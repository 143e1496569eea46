//! YAML and JSON as one tree of bounded size and depth.

mod json;
mod yaml;

use crate::ImportError;

/// Maximum nodes of a tree, including repetitions by aliases.
const MAX_NODES: usize = 50_000;
const MAX_DEPTH: usize = 64;
const MAX_BYTES: usize = 4 << 20;

/// A value of the input.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Null,
    Flag(bool),
    /// A number as it is written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    /// Entries in file order, with distinct keys.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// An entry of a map.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(entries) = self else {
            return None;
        };
        let entry = entries.iter().find(|(name, _)| name == key);
        entry.map(|(_, value)| value)
    }
}

/// Parses a text. A JSON object may have comments and trailing commas.
pub(crate) fn parse(text: &str) -> Result<Node, ImportError> {
    if text.len() > MAX_BYTES {
        return Err(ImportError::TooLarge);
    }
    let text = text.trim_start_matches('\u{feff}');
    let is_json = json::starts_with_object(text);
    let mut root = if is_json {
        json::parse(text)?
    } else {
        yaml::parse(text)?
    };
    make_distinct(&mut root);
    Ok(root)
}

/// The last entry of a repeated key counts, as in YAML and JSON libraries. Earlier entries get
/// distinct names, so that they are reported.
fn make_distinct(node: &mut Node) {
    match node {
        Node::List(items) => items.iter_mut().for_each(make_distinct),
        Node::Map(entries) => {
            let mut seen = std::collections::HashSet::new();
            for at in (0..entries.len()).rev() {
                let mut name = entries[at].0.clone();
                while !seen.insert(name.clone()) {
                    name.push_str(" (earlier)");
                }
                entries[at].0 = name;
                make_distinct(&mut entries[at].1);
            }
        }
        _ => {}
    }
}
