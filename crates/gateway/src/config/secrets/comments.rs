//! Finds comments. They may contain old values, so they are masked.

use crate::config::Span;

/// The spans of all comments in a TOML text, without their `#`.
pub(in crate::config) fn find(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].find(['#', '"', '\'']) {
        at += next;
        let rest = &text[at..];
        at += match rest.strip_prefix('#') {
            Some(comment) => {
                let end = comment.find('\n').unwrap_or(comment.len());
                found.push(at + 1..at + 1 + end);
                1 + end
            }
            None => text_length(rest),
        };
    }
    found
}

/// Length of the string that starts here, including its quotes.
fn text_length(rest: &str) -> usize {
    let quotes = ["\"\"\"", "'''", "\"", "'"];
    let quote = quotes.into_iter().find(|quote| rest.starts_with(quote));
    let quote = quote.unwrap_or("\"");
    let mut at = quote.len();
    while at < rest.len() {
        let here = &rest[at..];
        if here.starts_with(quote) {
            return at + quote.len();
        }
        let escaped = quote.starts_with('"') && here.starts_with('\\');
        let mut skipped = here.chars().take(if escaped { 2 } else { 1 });
        at += skipped.by_ref().map(char::len_utf8).sum::<usize>();
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_sign_in_a_string_starts_no_comment() {
        for (text, comments) in [
            ("a = 1 # b", vec![" b"]),
            ("# a\n#b\r\nc = 1", vec![" a", "b\r"]),
            ("a = \"#\" # b", vec![" b"]),
            ("a = \"\\\"#\" # b", vec![" b"]),
            ("a = '\\' # b", vec![" b"]),
            ("a = \"\"\"\n# \"#\"\n\"\"\" # b", vec![" b"]),
            ("a = '''#''' # ß", vec![" ß"]),
            ("a = \"#", vec![]),
        ] {
            let found: Vec<&str> = find(text).into_iter().map(|span| &text[span]).collect();
            assert_eq!(found, comments, "{text}");
        }
    }
}
