//! The text of a configuration file, and how its lines are displayed.

use std::fmt;
use std::ops::Range;

use super::Span;
use super::secrets::{STAR, patterns};

/// Shorter secrets are masked only at their position, since they may be parts of ordinary
/// words.
const SHORTEST_WORD: usize = 6;

/// Name and text of a configuration file. The text is only displayed line by line, with
/// secrets masked.
#[derive(Clone)]
pub struct ConfigSource {
    name: String,
    /// `None` if the file could not be read.
    text: Option<String>,
    /// Masked spans, sorted and disjoint.
    secrets: Vec<Span>,
    /// Secrets of the file and of variables, masked in every message.
    words: Vec<String>,
    holds_secrets: bool,
    blank: bool,
}

impl ConfigSource {
    pub(super) fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            name: name.into(),
            secrets: patterns::merged(patterns::addresses(&text).collect()),
            words: Vec::new(),
            text: Some(text),
            holds_secrets: false,
            blank: false,
        }
    }

    /// A file that could not be read.
    pub(super) fn missing(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            text: None,
            secrets: Vec::new(),
            words: Vec::new(),
            holds_secrets: false,
            blank: false,
        }
    }

    /// Whether the text itself contains keys, not just references to variables.
    pub fn holds_secrets(&self) -> bool {
        self.holds_secrets
    }

    pub(super) fn note_secrets(&mut self, held: bool) {
        self.holds_secrets = held;
    }

    /// Whether the file contains only comments and empty sections.
    pub(crate) fn is_blank(&self) -> bool {
        self.blank
    }

    pub(super) fn note_blank(&mut self, blank: bool) {
        self.blank = blank;
    }

    /// The file's name as given by the user.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_missing(&self) -> bool {
        self.text.is_none()
    }

    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Masks these spans.
    pub(super) fn hide(&mut self, secrets: impl IntoIterator<Item = Span>) {
        self.secrets.extend(secrets);
        self.secrets = patterns::merged(std::mem::take(&mut self.secrets));
    }

    /// Masks these words in all messages.
    pub(super) fn redact_words(&mut self, words: Vec<String>) {
        let long = words
            .into_iter()
            .map(|word| word.trim().to_ascii_lowercase());
        self.words = long.filter(|word| word.len() >= SHORTEST_WORD).collect();
        self.words.sort_unstable();
        self.words.dedup();
    }

    /// The message with all secrets masked.
    pub(crate) fn scrubbed(&self, message: &str) -> String {
        // ASCII lowercasing preserves lengths, so offsets are valid in both strings.
        let lower = message.to_ascii_lowercase();
        let found = self.words.iter().flat_map(|word| {
            let places = lower.match_indices(word.as_str());
            places.map(|(at, _)| at..at + word.len())
        });
        patterns::masked(message, &patterns::merged(found.collect()))
    }

    /// Whether this text is a proper beginning of another one: a file that was cut off.
    pub(crate) fn is_cut_from(&self, whole: &Self) -> bool {
        let (cut, whole) = (self.text().trim_end(), whole.text().trim_end());
        cut.len() < whole.len() && whole.starts_with(cut)
    }

    /// The masked text of a span.
    pub(super) fn shown(&self, span: Span) -> Option<String> {
        let text = self.text().get(span.clone())?;
        Some(self.masked(text, span.start))
    }

    /// All lines, masked; not even the length of a secret is shown.
    pub(crate) fn masked_lines(&self) -> Vec<String> {
        let mut start = 0;
        let lines = self.text().split_inclusive('\n').map(|line| {
            let shown = line.trim_end_matches(['\n', '\r']);
            let masked = self.masked(shown, start);
            start += line.len();
            shorten_stars(&masked)
        });
        lines.collect()
    }

    pub(super) fn line_at(&self, offset: usize) -> SourceLine {
        let text = self.text();
        let mut offset = offset.min(text.len());
        // An offset at the end of the file is shown on the last line with text.
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
        SourceLine {
            number: text[..start].matches('\n').count() + 1,
            column: text[start..offset].chars().count() + 1,
            text: self.masked(shown, start),
            start,
            original: shown.to_owned(),
        }
    }

    fn masked(&self, line: &str, start: usize) -> String {
        let end = start + line.len();
        let from = self.secrets.partition_point(|span| span.end <= start);
        let here = self.secrets[from..].iter();
        let here = here.take_while(|span| span.start < end);
        let inside = |span: &Span| span.start.max(start) - start..span.end.min(end) - start;
        let places: Vec<Span> = here.map(inside).collect();
        // A secret may occur again where it is not recognized by its position.
        self.scrubbed(&patterns::masked(line, &places))
    }
}

/// Replaces every run of four or more masked characters with eight.
fn shorten_stars(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("****") {
        shown.push_str(&rest[..at]);
        shown.push_str("********");
        rest = rest[at..].trim_start_matches(STAR);
    }
    shown + rest
}

/// Omits the text, which may contain keys.
impl fmt::Debug for ConfigSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigSource")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A line with secrets masked.
pub(super) struct SourceLine {
    pub(super) number: usize,
    pub(super) column: usize,
    pub(super) text: String,
    start: usize,
    original: String,
}

impl SourceLine {
    /// Whitespace before the column; tabs are kept so that markers line up.
    pub(super) fn indent(&self) -> String {
        let before = self.original.chars().take(self.column - 1);
        before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect()
    }

    /// Length of the marker on this line, at least 1.
    pub(super) fn marks(&self, span: &Span) -> usize {
        let line_end = self.start + self.original.len();
        let marked: Range<usize> = span.start.min(line_end)..span.end.min(line_end);
        let inside = |at: &usize| marked.contains(&(self.start + at));
        let marks = self.original.char_indices().filter(|(at, _)| inside(at));
        marks.count().max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_characters_from_one() {
        let source = ConfigSource::new("f", "a = 1\r\nß = \"é\" x\n");
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
    fn secrets_are_masked_in_messages_ignoring_case() {
        let mut source = ConfigSource::new("f", "");
        source.redact_words(vec!["CANARY-one".into(), "Canary".into(), "key".into()]);
        for (message, scrubbed) in [
            ("no `CANARY-one` here", "no `**********` here"),
            ("set LLM_CANARY for a key", "set LLM_****** for a key"),
            ("ẞ has canary-one in it", "ẞ has ********** in it"),
        ] {
            assert_eq!(source.scrubbed(message), scrubbed);
        }
    }
}
