//! The outcome of each field.

use std::collections::HashMap;
use std::fmt;

/// The outcome of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldOutcome {
    /// It has a counterpart with the same meaning.
    Mapped,
    /// It has a counterpart that differs as the note describes.
    Approximated,
    /// It has no counterpart, or no meaning here.
    NotImported,
}

/// A field, or a whole subtree, with its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldReport {
    /// Its place in the input, such as `model_list[0].litellm_params.model`.
    pub path: String,
    /// Its outcome.
    pub outcome: FieldOutcome,
    /// The reason, or the new place. Never contains a secret of the input.
    pub note: String,
}

/// The outcome of every field.
///
/// `Display` lists the approximated fields and those that were not imported; fields that
/// differ only in their position in a list share a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportReport {
    /// The fields in the order of the input's sections.
    pub fields: Vec<FieldReport>,
    /// Variables that must be set because the input had a secret in their place, with the
    /// path of the secret.
    pub new_variables: Vec<(String, String)>,
}

impl ImportReport {
    /// Fields with this outcome.
    pub fn count(&self, outcome: FieldOutcome) -> usize {
        let fields = self.fields.iter();
        fields.filter(|field| field.outcome == outcome).count()
    }

    /// The fields of one outcome as lines, each with its note.
    pub(crate) fn lines(&self, outcome: FieldOutcome) -> Vec<String> {
        let mut groups: Vec<(String, &str, usize)> = Vec::new();
        let mut places: HashMap<(String, &str), usize> = HashMap::new();
        for field in self.fields.iter().filter(|field| field.outcome == outcome) {
            let path = without_positions(&field.path);
            let place = places.entry((path.clone(), &field.note));
            let at = *place.or_insert_with(|| {
                groups.push((path, &field.note, 0));
                groups.len() - 1
            });
            groups[at].2 += 1;
        }
        let line = |(path, note, times): &(String, &str, usize)| match times {
            1 => format!("{path}: {note}"),
            _ => format!("{path} ({times} times): {note}"),
        };
        groups.iter().map(line).collect()
    }
}

/// A path with `[]` instead of positions in lists.
fn without_positions(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('[') {
        let (before, inside) = rest.split_at(at + 1);
        out.push_str(before);
        let digits = inside.len()
            - inside
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .len();
        rest = &inside[digits..];
    }
    out.push_str(rest);
    out
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} fields mapped, {} approximated, {} not imported",
            self.count(FieldOutcome::Mapped),
            self.count(FieldOutcome::Approximated),
            self.count(FieldOutcome::NotImported),
        )?;
        for (title, outcome) in [
            ("approximated", FieldOutcome::Approximated),
            ("not imported", FieldOutcome::NotImported),
        ] {
            let lines = self.lines(outcome);
            if !lines.is_empty() {
                writeln!(f, "{title}:")?;
            }
            for line in lines {
                writeln!(f, "  {line}")?;
            }
        }
        if !self.new_variables.is_empty() {
            writeln!(f, "set these variables, whose values were in the file:")?;
        }
        for (variable, path) in &self.new_variables {
            writeln!(f, "  {variable}: {path}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_in_lists_are_left_out() {
        for (path, shown) in [
            ("a[0].b[12].c", "a[].b[].c"),
            ("a", "a"),
            ("a[x]", "a[x]"),
            ("a[", "a["),
        ] {
            assert_eq!(without_positions(path), shown);
        }
    }
}
