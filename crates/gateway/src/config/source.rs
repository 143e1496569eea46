//! The text of a file, and how a line of it may be shown.

use std::fmt;
use std::ops::Range;

use super::Span;

/// What stands in the place of each character of a secret.
const STAR: char = '*';

/// A configuration file's name and text. It is only ever shown line by line, and
/// without its secrets.
#[derive(Clone)]
pub struct Source {
    name: String,
    /// None if there is no text because the file could not be read.
    text: Option<String>,
    secrets: Vec<Span>,
    holds_secrets: bool,
}

impl Source {
    pub(super) fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            name: name.into(),
            secrets: passwords(&text).collect(),
            text: Some(text),
            holds_secrets: false,
        }
    }

    /// A file that could not be read.
    pub(super) fn missing(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            text: None,
            secrets: Vec::new(),
            holds_secrets: false,
        }
    }

    /// Whether keys stand in the text itself, and not only names of variables.
    pub fn holds_secrets(&self) -> bool {
        self.holds_secrets
    }

    pub(super) fn note_secrets(&mut self, held: bool) {
        self.holds_secrets = held;
    }

    /// The file's name as the user gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_missing(&self) -> bool {
        self.text.is_none()
    }

    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Shows stars in these places from now on.
    pub(super) fn hide(&mut self, secrets: impl IntoIterator<Item = Span>) {
        self.secrets.extend(secrets);
    }

    /// Hides what looks like a secret in a text that could not be parsed: the
    /// rest of each line after a key whose value is one.
    pub(super) fn hide_by_name(&mut self) {
        let mut found = Vec::new();
        let mut start = 0;
        for line in self.text().split_inclusive('\n') {
            if let Some(value) = secret_value(line) {
                found.push(start + value.start..start + value.end);
            }
            start += line.len();
        }
        self.secrets.extend(found);
    }

    pub(super) fn line_at(&self, offset: usize) -> Line {
        let text = self.text();
        let mut offset = offset.min(text.len());
        // A place at the very end is shown on the last line that has text.
        if offset == text.len() && text.ends_with('\n') {
            offset = text.trim_end().len();
        }
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
        let end = text[offset..]
            .find('\n')
            .map_or(text.len(), |at| offset + at);
        let shown = text[start..end].trim_end_matches('\r');
        Line {
            number: text[..start].matches('\n').count() + 1,
            column: text[start..offset].chars().count() + 1,
            text: self.masked(shown, start),
            start,
            original: shown.to_owned(),
        }
    }

    fn masked(&self, line: &str, start: usize) -> String {
        let hidden = |at: usize| self.secrets.iter().any(|span| span.contains(&(start + at)));
        let stars = |(at, c)| if hidden(at) { STAR } else { c };
        line.char_indices().map(stars).collect()
    }
}

/// The text may hold keys.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A line as it may be shown.
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) column: usize,
    pub(super) text: String,
    start: usize,
    original: String,
}

impl Line {
    /// White space up to the marked place; tabs stay, so that marks line up.
    pub(super) fn indent(&self) -> String {
        let before = self.original.chars().take(self.column - 1);
        before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect()
    }

    /// How many marks the place gets on this line; at least one.
    pub(super) fn marks(&self, span: &Span) -> usize {
        let line_end = self.start + self.original.len();
        let marked: Range<usize> = span.start.min(line_end)..span.end.min(line_end);
        let inside = |at: &usize| marked.contains(&(self.start + at));
        let marks = self.original.char_indices().filter(|(at, _)| inside(at));
        marks.count().max(1)
    }
}

/// What stands between `://` and `@`, wherever it is, unless it is a variable.
fn passwords(text: &str) -> impl Iterator<Item = Span> {
    text.match_indices("://").filter_map(|(at, mark)| {
        let start = at + mark.len();
        let rest = &text[start..];
        let ends = |c: char| c.is_whitespace() || matches!(c, '@' | '/' | '"' | '\'' | '?' | '#');
        let end = rest
            .find(ends)
            .filter(|end| rest[*end..].starts_with('@'))?;
        (!rest.starts_with("${")).then(|| start..start + end)
    })
}

/// Words in a key's name that make its value a secret.
const SECRET_WORDS: [&str; 5] = ["key", "token", "secret", "password", "dsn"];

/// Whether a key of this name holds a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// The place behind `key =` in a line, if that key's value is a secret and no
/// mere reference to the environment.
fn secret_value(line: &str) -> Option<Range<usize>> {
    let equals = line
        .match_indices('=')
        .find(|(at, _)| {
            let before = line[..*at].trim_end();
            let name = before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'));
            name.into_iter().next().is_some_and(is_secret_name)
        })?
        .0;
    let value = line[equals + 1..].trim();
    let reference = value.starts_with("\"${") && value.ends_with("}\"");
    let start = equals + 1 + line[equals + 1..].find(|c: char| !c.is_whitespace())?;
    (!reference).then(|| start..line.trim_end().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_characters_from_one() {
        let source = Source::new("f", "a = 1\r\nß = \"é\" x\n");
        let at = source.text().find('x').unwrap();
        let line = source.line_at(at);
        assert_eq!((line.number, line.column), (2, 9));
        assert_eq!(line.text, "ß = \"é\" x");
        assert_eq!(source.line_at(0).text, "a = 1");
        assert_eq!(
            source.line_at(10_000).number,
            2,
            "the end is on the last line"
        );
    }

    #[test]
    fn a_broken_file_does_not_show_its_keys() {
        for (line, shown) in [
            ("api_key = \"CANARY\"", "api_key = ********"),
            ("a = 1, key = \"CANARY", "a = 1, key = *******"),
            ("api_key = \"${NAME}\"", "api_key = \"${NAME}\""),
            ("listen = \"x\"", "listen = \"x\""),
            ("x = \"a://CANARY@h\" y", "x = \"a://******@h\" y"),
            ("x = \"https://h/a@b\" y", "x = \"https://h/a@b\" y"),
        ] {
            let mut source = Source::new("f", line);
            source.hide_by_name();
            assert_eq!(source.line_at(0).text, shown);
        }
    }
}
