//! A cursor over the input that accounts for every field.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::draft::Draft;
use crate::report::{FieldOutcome, FieldReport, ImportReport};
use crate::secret::looks_secret;
use crate::tree::Node;

/// The input, with the outcomes of its fields so far.
pub(crate) struct Source<'a> {
    root: &'a Node,
    log: RefCell<Vec<FieldReport>>,
    /// The paths of the log.
    paths: RefCell<HashSet<String>>,
}

/// A value of the input and its path.
#[derive(Clone)]
pub(crate) struct Field<'a> {
    pub(crate) node: &'a Node,
    pub(crate) path: String,
    source: &'a Source<'a>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(root: &'a Node) -> Self {
        Self {
            root,
            log: RefCell::default(),
            paths: RefCell::default(),
        }
    }

    pub(crate) fn root(&'a self) -> Field<'a> {
        Field {
            node: self.root,
            path: String::new(),
            source: self,
        }
    }

    /// Reports the remaining fields, and returns the whole report.
    pub(crate) fn finish(&self, draft: &Draft) -> ImportReport {
        let mut fields = self.log.take();
        let covered = self.paths.take();
        let mut order = Vec::new();
        sweep(self.root, "", &covered, &mut order);
        for (path, leaf) in order {
            let note = match leaf {
                Node::Null | Node::List(_) | Node::Map(_) => "it is empty",
                _ => "unknown to this importer",
            };
            fields.push(FieldReport {
                path,
                outcome: FieldOutcome::NotImported,
                note: note.to_owned(),
            });
        }
        ImportReport {
            fields,
            new_variables: draft.secrets.new_variables(),
        }
    }
}

/// Lists the leaves that are not in the report, nor any node above them.
fn sweep<'a>(
    node: &'a Node,
    path: &str,
    known: &HashSet<String>,
    leaves: &mut Vec<(String, &'a Node)>,
) {
    if known.contains(path) {
        return;
    }
    match node {
        Node::List(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                sweep(item, &format!("{path}[{at}]"), known, leaves);
            }
        }
        Node::Map(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                sweep(value, &joined(path, key), known, leaves);
            }
        }
        _ => leaves.push((path.to_owned(), node)),
    }
}

fn joined(path: &str, key: &str) -> String {
    let key = segment(key);
    match path {
        "" => key.into_owned(),
        path => format!("{path}.{key}"),
    }
}

/// A key as part of a path. Keys that a path could not be split at again are quoted; of one that
/// looks like a secret only a checksum is shown.
fn segment(key: &str) -> Cow<'_, str> {
    let plain = |c: char| !c.is_control() && !matches!(c, '.' | '[' | ']' | '"');
    if looks_secret(key) {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let sum = hasher.finish() & 0xffff;
        Cow::Owned(format!("<secret {sum:04x}>"))
    } else if !key.is_empty() && key.chars().all(plain) {
        Cow::Borrowed(key)
    } else {
        Cow::Owned(format!("{key:?}"))
    }
}

impl<'a> Field<'a> {
    pub(crate) fn get(&self, key: &str) -> Option<Self> {
        let node = self.node.get(key)?;
        Some(self.child(node, joined(&self.path, key)))
    }

    /// The items of a list; none for anything else.
    pub(crate) fn items(&self) -> Vec<Self> {
        let Node::List(items) = self.node else {
            return Vec::new();
        };
        let items = items.iter().enumerate();
        items
            .map(|(at, node)| self.child(node, format!("{}[{at}]", self.path)))
            .collect()
    }

    /// The first item of a list that satisfies a condition.
    pub(crate) fn item(&self, is_wanted: impl Fn(&Node) -> bool) -> Option<Self> {
        let Node::List(items) = self.node else {
            return None;
        };
        let at = items.iter().position(is_wanted)?;
        Some(self.child(&items[at], format!("{}[{at}]", self.path)))
    }

    /// The entries of a map; none for anything else.
    pub(crate) fn entries(&self) -> Vec<(&'a str, Self)> {
        let Node::Map(entries) = self.node else {
            return Vec::new();
        };
        let entry = |(key, node): &'a (String, Node)| {
            (key.as_str(), self.child(node, joined(&self.path, key)))
        };
        entries.iter().map(entry).collect()
    }

    fn child(&self, node: &'a Node, path: String) -> Self {
        Self {
            node,
            path,
            source: self.source,
        }
    }

    /// A text that is not blank.
    pub(crate) fn text(&self) -> Option<&'a str> {
        match self.node {
            Node::Text(text) if !text.trim().is_empty() => Some(text.trim()),
            _ => None,
        }
    }

    /// A text or a number, verbatim.
    pub(crate) fn written(&self) -> Option<&'a str> {
        match self.node {
            Node::Number(number) => Some(number),
            _ => self.text(),
        }
    }

    /// A number, quoted or not.
    pub(crate) fn number(&self) -> Option<f64> {
        let number: f64 = self.written()?.parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number)
    }

    /// A whole number that fits.
    pub(crate) fn whole(&self, least: u32, most: u32) -> Option<u32> {
        let number = self.number()?.round();
        let fits = (f64::from(least)..=f64::from(most)).contains(&number);
        fits.then_some(number as u32)
    }

    pub(crate) fn flag(&self) -> Option<bool> {
        match self.node {
            Node::Flag(flag) => Some(*flag),
            Node::Text(text) => text.trim().to_ascii_lowercase().parse().ok(),
            _ => None,
        }
    }

    /// Whether the report has this field.
    pub(crate) fn is_reported(&self) -> bool {
        self.source.paths.borrow().contains(&self.path)
    }

    pub(crate) fn mapped(&self, note: impl Into<String>) {
        self.log(FieldOutcome::Mapped, note.into());
    }

    pub(crate) fn approximated(&self, note: impl Into<String>) {
        self.log(FieldOutcome::Approximated, note.into());
    }

    pub(crate) fn skipped(&self, note: impl Into<String>) {
        self.log(FieldOutcome::NotImported, note.into());
    }

    /// A value of the wrong type.
    pub(crate) fn unusable(&self, expected: &str) {
        self.skipped(format!("it is not {expected}"));
    }

    fn log(&self, outcome: FieldOutcome, note: String) {
        let path = self.path.clone();
        self.source.paths.borrow_mut().insert(path.clone());
        self.source.log.borrow_mut().push(FieldReport {
            path,
            outcome,
            note,
        });
    }
}
