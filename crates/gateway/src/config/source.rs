//! The text of a file, and how a line of it may be shown.

use std::fmt;
use std::ops::Range;

use super::Span;
use super::secrets::shape;

/// Shorter texts are also parts of ordinary words; they are hidden by their place.
const SHORTEST_WORD: usize = 6;

/// A configuration file's name and text. It is only ever shown line by line, and
/// without its secrets.
#[derive(Clone)]
pub struct Source {
    name: String,
    /// None if there is no text because the file could not be read.
    text: Option<String>,
    /// The places that are not shown, in order and apart.
    secrets: Vec<Span>,
    /// What must not be in any message: secrets of the file and of variables.
    words: Vec<String>,
    holds_secrets: bool,
    blank: bool,
}

impl Source {
    pub(super) fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            name: name.into(),
            secrets: shape::merged(shape::addresses(&text).collect()),
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

    /// Whether keys stand in the text itself, and not only names of variables.
    pub fn holds_secrets(&self) -> bool {
        self.holds_secrets
    }

    pub(super) fn note_secrets(&mut self, held: bool) {
        self.holds_secrets = held;
    }

    /// Whether the text says nothing: comments and empty sections at most.
    pub(crate) fn is_blank(&self) -> bool {
        self.blank
    }

    pub(super) fn note_blank(&mut self, blank: bool) {
        self.blank = blank;
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
        self.secrets = shape::merged(std::mem::take(&mut self.secrets));
    }

    /// Keeps these texts out of all messages.
    pub(super) fn keep_out(&mut self, words: Vec<String>) {
        let long = words
            .into_iter()
            .map(|word| word.trim().to_ascii_lowercase());
        self.words = long.filter(|word| word.len() >= SHORTEST_WORD).collect();
        self.words.sort_unstable();
        self.words.dedup();
    }

    /// A message without the file's secrets, however they got into it.
    pub(super) fn scrubbed(&self, message: &str) -> String {
        // ASCII keeps its length, so that places are the same in both.
        let lower = message.to_ascii_lowercase();
        let found = self.words.iter().flat_map(|word| {
            let places = lower.match_indices(word.as_str());
            places.map(|(at, _)| at..at + word.len())
        });
        shape::masked(message, &shape::merged(found.collect()))
    }

    /// What may be shown of a place.
    pub(super) fn shown(&self, span: Span) -> Option<String> {
        let text = self.text().get(span.clone())?;
        Some(self.masked(text, span.start))
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
        let end = start + line.len();
        let from = self.secrets.partition_point(|span| span.end <= start);
        let here = self.secrets[from..].iter();
        let here = here.take_while(|span| span.start < end);
        let inside = |span: &Span| span.start.max(start) - start..span.end.min(end) - start;
        let places: Vec<Span> = here.map(inside).collect();
        shape::masked(line, &places)
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
    fn a_secret_is_kept_out_of_messages_in_any_case() {
        let mut source = Source::new("f", "");
        source.keep_out(vec!["CANARY-one".into(), "Canary".into(), "key".into()]);
        for (message, scrubbed) in [
            ("no `CANARY-one` here", "no `**********` here"),
            ("set LLM_CANARY for a key", "set LLM_****** for a key"),
            ("ẞ has canary-one in it", "ẞ has ********** in it"),
        ] {
            assert_eq!(source.scrubbed(message), scrubbed);
        }
    }
}
