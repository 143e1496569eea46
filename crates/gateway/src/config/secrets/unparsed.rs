//! Decides which text to display from a file that is not valid TOML.
//!
//! Positions are unreliable: a missing quote turns names into values and values into
//! names. Only punctuation, names of sections and keys, and values of keys known to be
//! harmless are displayed.

use majordomo::nearest::most_similar;

use super::names::{SETTINGS, is_reference, is_word, may_be_secret_name};
use super::patterns;
use crate::config::Span;

/// Finds all spans that must be masked.
pub(in crate::config) fn find(text: &str) -> Vec<Span> {
    let mut lexer = Lexer {
        text,
        at: 0,
        shown: Vec::new(),
        inside: Vec::new(),
    };
    lexer.run();
    let shown = patterns::merged(lexer.shown);
    let mut hidden = Vec::new();
    let mut start = 0;
    for span in shown {
        hidden.push(start..span.start);
        start = span.end;
    }
    hidden.push(start..text.len());
    hidden.extend(patterns::addresses(text));
    hidden
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    shown: Vec<Span>,
    /// Open brackets.
    inside: Vec<Bracket>,
}

/// An open bracket, and whether its key is harmless.
#[derive(Clone, Copy)]
enum Bracket {
    List(bool),
    Table(bool),
}

impl Lexer<'_> {
    fn run(&mut self) {
        while self.at < self.text.len() {
            let before = self.text[..self.at].chars().next_back();
            if before.is_none_or(|c| c == '\n') && self.header() {
                continue;
            }
            match self.rest().chars().next() {
                None => return,
                // Comments may contain old values.
                Some('#') => self.at = self.end_of_line(),
                Some('[' | '{') => {
                    let harmless = self.is_harmless_here();
                    self.open(harmless);
                }
                Some(']' | '}') => {
                    self.inside.pop();
                    self.show(1);
                }
                Some(c) if c.is_whitespace() || c == ',' => self.show(c.len_utf8()),
                Some(_) => {
                    let harmless = self.is_harmless_here();
                    match self.key() {
                        Some(harmless) => self.value(harmless),
                        None => self.scalar(harmless),
                    }
                }
            }
        }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn end_of_line(&self) -> usize {
        let end = self.rest().find('\n');
        end.map_or(self.text.len(), |end| self.at + end)
    }

    fn show(&mut self, length: usize) {
        self.shown.push(self.at..self.at + length);
        self.at += length;
    }

    fn show_spaces(&mut self) {
        let rest = self.rest();
        let spaces = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        self.show(spaces);
    }

    /// Whether a value without its own key may be displayed.
    fn is_harmless_here(&self) -> bool {
        matches!(self.inside.last(), Some(Bracket::List(true)))
    }

    /// Enters a bracket.
    fn open(&mut self, harmless: bool) {
        let bracket = match self.rest().starts_with('[') {
            true => Bracket::List(harmless),
            false => Bracket::Table(harmless),
        };
        self.inside.push(bracket);
        self.show(1);
    }

    /// A section header is displayed if its names are plain words.
    fn header(&mut self) -> bool {
        let end = self.end_of_line();
        let line = &self.text[self.at..end];
        let line = line.split('#').next().unwrap_or_default().trim_end();
        let inner = line.trim_start();
        if !inner.starts_with('[') || inner.contains(['=', ',', '"', '\'', '{', '}']) {
            return false;
        }
        let names = inner.trim_start_matches('[').trim_end_matches(']');
        let first = names.split('.').next().unwrap_or_default().trim();
        let harmless = |name: &str| patterns::secret_spans(name).is_empty() && name.len() <= 64;
        if !is_word(first) || !names.split('.').all(harmless) || names.contains(['[', ']']) {
            return false;
        }
        self.inside.clear();
        self.show(line.len());
        self.at = end;
        true
    }

    /// Reads a name with its `=`; returns whether its value may be displayed.
    fn key(&mut self) -> Option<bool> {
        let rest = self.rest();
        let of_name = |c: char| c.is_alphanumeric() || "_-. \t".contains(c);
        let end = rest.find(|c| !of_name(c)).filter(|end| *end > 0)?;
        if !rest[end..].starts_with('=') {
            return None;
        }
        let names = || rest[..end].split('.').map(str::trim);
        let known = |name: &str| match most_similar(name, SETTINGS.iter().copied()) {
            Some(known) => known == name || !may_be_secret_name(name),
            None => false,
        };
        let outer = match self.inside.last() {
            Some(Bracket::List(harmless) | Bracket::Table(harmless)) => *harmless,
            None => true,
        };
        let harmless = outer && names().all(known);
        if names().all(is_word) {
            self.show(end);
        } else {
            self.at += end;
        }
        self.show(1);
        Some(harmless)
    }

    /// Reads the value after `=`.
    fn value(&mut self, harmless: bool) {
        self.show_spaces();
        match self.rest().chars().next() {
            Some('[' | '{') => self.open(harmless),
            Some('\n' | '\r' | '#') | None => {}
            Some(_) => self.scalar(harmless),
        }
    }

    /// Reads a string, or anything else up to the next punctuation.
    fn scalar(&mut self, harmless: bool) {
        let rest = self.rest();
        for quote in ["\"\"\"", "'''"] {
            if let Some(inner) = rest.strip_prefix(quote) {
                let end = inner.find(quote).map(|end| end + 2 * quote.len());
                self.at += end.unwrap_or(rest.len());
                return;
            }
        }
        let line = &self.text[self.at..self.end_of_line()];
        let quote = line.chars().next().filter(|c| matches!(c, '"' | '\''));
        let Some(quote) = quote else {
            let ends =
                |c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}' | '#' | '"' | '\'');
            let length = line.find(ends).unwrap_or(line.len()).max(1);
            return self.take(length, harmless);
        };
        match closing(line, quote) {
            Some(length) => {
                let inner = &line[1..length - 1];
                let harmless = harmless || is_reference(inner);
                self.take(length, harmless);
            }
            None if harmless => {
                // The rest may belong to the next key.
                let plain = |c: char| c.is_alphanumeric() || " .:/_-".contains(c);
                let inner = &line[1..];
                let length = 1 + inner.find(|c| !plain(c)).unwrap_or(inner.len());
                self.take(length, true);
                self.at = self.end_of_line();
            }
            None => self.at += line.len(),
        }
    }

    /// Skips a value, displaying it if that is allowed.
    fn take(&mut self, length: usize, harmless: bool) {
        let end = (self.at + length).min(self.text.len());
        let end = (end..=self.text.len())
            .find(|at| self.text.is_char_boundary(*at))
            .unwrap_or(self.text.len());
        if harmless {
            let start = self.at;
            let mut from = start;
            let parts = patterns::secret_spans(&self.text[start..end]);
            for part in parts {
                self.shown.push(from..start + part.start);
                from = start + part.end;
            }
            self.shown.push(from..end);
        }
        self.at = end;
    }
}

/// Length of a quoted string, if it is closed.
fn closing(line: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in line.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote == '"' => escaped = true,
            _ if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The text as displayed, line by line.
    fn shown(text: &str) -> String {
        let masked = patterns::masked(text, &patterns::merged(find(text)));
        let lines = text.chars().zip(masked.chars());
        lines
            .map(|(c, shown)| if c == '\n' { c } else { shown })
            .collect()
    }

    #[test]
    fn only_harmless_parts_of_an_invalid_file_are_displayed() {
        for (text, expected) in [
            ("api_key = \"CANARY\"", "api_key = ********"),
            ("retries = 1, key = \"CANARY", "retries = 1, key = *******"),
            ("api_key = \"${NAME}\"", "api_key = \"${NAME}\""),
            ("api_key = \"${CANARY-x}\"", "api_key = *************"),
            ("listen = \"x\" # CANARY", "listen = \"x\" ********"),
            ("listen = \"1.2.3.4:5", "listen = \"1.2.3.4:5"),
            ("name = \"a, key = 'CANARY'", "name = \"a****************"),
            (
                "base_url = \"a://CANARY@h\" y",
                "base_url = \"a://******@h\" *",
            ),
            ("base_url = \"a://h?CANARY\"", "base_url = \"a://h?******\""),
            ("key = [\n\"CANARY\",\n1]", "key = [\n********,\n*]"),
            ("key = { a = \"CANARY\" }", "key = { a = ******** }"),
            (
                "headers = { name = \"CANARY\" }",
                "headers = { name = ******** }",
            ),
            ("key = \"\"\"\nCANARY\n", "key = ***\n******\n"),
            (
                "services = [ { spec = \"a/b\" } ",
                "services = [ { spec = \"a/b\" } ",
            ),
            ("CANARY", "******"),
            ("CANARY=", "******="),
            ("CANARY==", "******=*"),
            ("[CANARY]", "[******]"),
            ("[server", "[server"),
            ("[[keys]]", "[[keys]]"),
            ("[providers.groq]", "[providers.groq]"),
            ("listen = 127.0.0.1:4100", "listen = 127.0.0.1:4100"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn masking_never_panics_and_keeps_the_length(text in "[a-z\"'=\\[\\]{}#\n.,ß ]{0,40}") {
            prop_assert_eq!(shown(&text).chars().count(), text.chars().count());
        }
    }
}
