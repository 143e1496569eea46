//! Compares a candidate with a file, by lines and by entries.
//!
//! Values are compared unmasked and shown masked.

use serde::Serialize;
use toml::de::{DeTable, DeValue};

use super::ConfigSource;
use super::line_diff::{LineEdit, diff};

/// Unchanged lines to show around a change.
const AROUND: usize = 3;

/// A line of the difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct DiffLine {
    /// `same`, `removed`, `added`, or `gap` where unchanged lines are left out.
    pub(crate) kind: &'static str,
    /// Its number in the running file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old: Option<usize>,
    /// Its number in the candidate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) new: Option<usize>,
    /// Its masked text.
    pub(crate) text: String,
}

/// An entry that a candidate adds, removes or changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct EntryChange {
    /// The section, such as `routes`.
    pub(crate) section: String,
    /// The entry's name, or the name of a setting.
    pub(crate) name: String,
    /// `added`, `removed` or `changed`.
    pub(crate) kind: &'static str,
}

/// The lines in which two files differ, with some around them.
pub(crate) fn lines(old: &ConfigSource, new: &ConfigSource) -> Vec<DiffLine> {
    let (old_text, new_text) = (old.text().lines(), new.text().lines());
    let (old_text, new_text): (Vec<&str>, Vec<&str>) = (old_text.collect(), new_text.collect());
    let (old_shown, new_shown) = (old.masked_lines(), new.masked_lines());
    let edits = diff(&old_text, &new_text);
    let near = |at: usize| {
        let range = at.saturating_sub(AROUND)..(at + AROUND + 1).min(edits.len());
        edits[range]
            .iter()
            .any(|edit| !matches!(edit, LineEdit::Keep(..)))
    };
    let text = |lines: &[String], at: usize| lines.get(at).cloned().unwrap_or_default();
    let mut shown: Vec<DiffLine> = Vec::new();
    for (at, edit) in edits.iter().enumerate() {
        let line = match *edit {
            LineEdit::Keep(a, b) if near(at) => ("same", Some(a), Some(b), text(&old_shown, a)),
            LineEdit::Keep(..) => ("gap", None, None, String::new()),
            LineEdit::Remove(a) => ("removed", Some(a), None, text(&old_shown, a)),
            LineEdit::Add(b) => ("added", None, Some(b), text(&new_shown, b)),
        };
        let (kind, old, new, text) = line;
        let is_gap = |line: &DiffLine| line.kind == "gap";
        if kind == "gap" && shown.last().is_none_or(is_gap) {
            continue;
        }
        shown.push(DiffLine {
            kind,
            old: old.map(|at| at + 1),
            new: new.map(|at| at + 1),
            text,
        });
    }
    shown.pop_if(|line| line.kind == "gap");
    shown
}

/// The entries in which two files differ. Sections without names are compared setting by
/// setting.
pub(crate) fn entries(old: &ConfigSource, new: &ConfigSource) -> Vec<EntryChange> {
    let (old, _) = DeTable::parse_recoverable(old.text());
    let (new, _) = DeTable::parse_recoverable(new.text());
    let (old, new) = (named(old.get_ref()), named(new.get_ref()));
    let mut changes = Vec::new();
    for (place, value) in &old {
        let kind = match new.iter().find(|(other, _)| other == place) {
            None => "removed",
            Some((_, other)) if !same(value, other) => "changed",
            Some(_) => continue,
        };
        changes.push((place.clone(), kind));
    }
    let is_new = |place: &(String, String)| !old.iter().any(|(known, _)| known == place);
    let added = new.iter().filter(|(place, _)| is_new(place));
    changes.extend(added.map(|(place, _)| (place.clone(), "added")));
    changes.sort();
    let change = |((section, name), kind)| EntryChange {
        section,
        name,
        kind,
    };
    changes.into_iter().map(change).collect()
}

/// The entries of a file: a section's name, an entry's name, and its value.
fn named<'a>(file: &'a DeTable<'a>) -> Vec<((String, String), &'a DeValue<'a>)> {
    let mut entries = Vec::new();
    for (section, value) in file {
        let section = section.get_ref().to_string();
        match value.get_ref() {
            DeValue::Table(table) => entries.extend(table.iter().map(|(name, value)| {
                let place = (section.clone(), name.get_ref().to_string());
                (place, value.get_ref())
            })),
            DeValue::Array(list) => {
                for (number, entry) in (1..).zip(list.iter()) {
                    let name = name_of(entry.get_ref()).unwrap_or_else(|| format!("#{number}"));
                    entries.push(((section.clone(), name), entry.get_ref()));
                }
            }
            value => entries.push(((String::new(), section), value)),
        }
    }
    entries
}

/// The name of a list's entry.
fn name_of(entry: &DeValue<'_>) -> Option<String> {
    let DeValue::Table(table) = entry else {
        return None;
    };
    let text = |name: &str| {
        let found = table.iter().find(|(key, _)| key.get_ref() == name);
        match found.map(|(_, value)| value.get_ref()) {
            Some(DeValue::String(text)) => Some(text.to_string()),
            _ => None,
        }
    };
    text("name").or_else(|| text("model"))
}

/// Whether two values are equal, regardless of their positions.
fn same(a: &DeValue<'_>, b: &DeValue<'_>) -> bool {
    match (a, b) {
        (DeValue::Table(a), DeValue::Table(b)) => {
            let mut pairs = a.iter().zip(b.iter());
            a.len() == b.len()
                && pairs.all(|((key, value), (other_key, other))| {
                    key.get_ref() == other_key.get_ref() && same(value.get_ref(), other.get_ref())
                })
        }
        (DeValue::Array(a), DeValue::Array(b)) => {
            let mut pairs = a.iter().zip(b.iter());
            a.len() == b.len() && pairs.all(|(a, b)| same(a.get_ref(), b.get_ref()))
        }
        (DeValue::String(a), DeValue::String(b)) => a == b,
        (DeValue::Boolean(a), DeValue::Boolean(b)) => a == b,
        (DeValue::Integer(a), DeValue::Integer(b)) => a.to_string() == b.to_string(),
        (DeValue::Float(a), DeValue::Float(b)) => a.to_string() == b.to_string(),
        (DeValue::Datetime(a), DeValue::Datetime(b)) => a == b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::config::{Config, Variables};

    fn source(text: &str) -> Arc<ConfigSource> {
        let parsed = Config::parse_with("t.toml", text, &BTreeMap::new(), Variables::Optional);
        parsed.unwrap_or_else(|error| panic!("{error}")).source
    }

    const OLD: &str = "[server]\nmax_requests = 10\n\
        [providers.up]\nkind = \"openai\"\napi_key = \"canary-secret-one\"\n\
        [aliases]\nfast = \"up/a\"\n\
        [[keys]]\nname = \"laptop\"\nkey = \"canary-secret-two\"\n";

    #[test]
    fn entries_are_added_removed_and_changed_by_name() {
        let new = OLD
            .replace("10", "20")
            .replace("secret-one", "secret-three")
            .replace("fast", "quick")
            .replace("laptop", "desktop");
        let found = entries(&source(OLD), &source(&new));
        let found: Vec<(&str, &str, &str)> = found
            .iter()
            .map(|change| (&*change.section, &*change.name, change.kind))
            .collect();
        assert_eq!(
            found,
            [
                ("aliases", "fast", "removed"),
                ("aliases", "quick", "added"),
                ("keys", "desktop", "added"),
                ("keys", "laptop", "removed"),
                ("providers", "up", "changed"),
                ("server", "max_requests", "changed"),
            ]
        );
        let moved = OLD.replace("[server]", "# a comment\n\n[server]");
        assert_eq!(entries(&source(OLD), &source(&moved)), []);
    }

    #[test]
    fn a_changed_secret_is_a_changed_line_and_never_shown() {
        let new = OLD.replace("canary-secret-one", "canary-secret-longer-one");
        let lines = lines(&source(OLD), &source(&new));
        let changed: Vec<_> = lines.iter().filter(|line| line.kind != "same").collect();
        let kinds: Vec<_> = changed.iter().map(|line| line.kind).collect();
        assert_eq!(kinds, ["removed", "added", "gap"][..kinds.len()]);
        for line in &lines {
            assert!(!line.text.contains("canary"), "{line:?}");
        }
        let shown: Vec<_> = changed.iter().take(2).map(|line| &line.text).collect();
        assert_eq!(shown[0], shown[1], "not even its length");
    }
}
