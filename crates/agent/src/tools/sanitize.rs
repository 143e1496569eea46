//! Sanitizes the text of tools.
//!
//! Programs print colours, progress bars, binary dumps and megabytes. None of it helps a
//! model, and some of it breaks providers.

use std::borrow::Cow;

use crate::char_prefix::char_prefix;

/// Maximum bytes of text in one result.
pub(super) const MAX_RESULT_LEN: usize = 256 * 1024;

/// Truncates text to `max_len` bytes and appends a marker.
pub(super) fn shorten(text: Cow<'_, str>, max_len: usize) -> Cow<'_, str> {
    if text.len() <= max_len {
        return text;
    }
    let kept = char_prefix(&text, max_len);
    Cow::Owned(format!(
        "{kept}\n[truncated: the first {} of {} bytes are shown]",
        kept.len(),
        text.len()
    ))
}

/// Removes terminal escape sequences and control characters, except newlines and tabs.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' {
            skip_escape(&mut rest);
        } else if !is_unprintable(c) {
            clean.push(c);
        }
    }
    Cow::Owned(clean)
}

fn is_unprintable(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\r' | '\t')
}

/// Skips the rest of an escape sequence (ECMA-48).
fn skip_escape(rest: &mut std::str::Chars<'_>) {
    match rest.clone().next() {
        // CSI: `ESC [ parameters letter`.
        Some('[') => {
            rest.next();
            let after = rest.as_str();
            let end = after.find(|c| matches!(c, '@'..='~'));
            *rest = after[end.map_or(after.len(), |at| at + 1)..].chars();
        }
        // OSC: `ESC ] text BEL` or `ESC ] text ESC \`.
        Some(']') => {
            let after = rest.as_str();
            let end = after.find(['\u{7}', '\u{1b}']);
            *rest = after[end.map_or(after.len(), |at| at + 1)..].chars();
            if rest.as_str().starts_with('\\') {
                rest.next();
            }
        }
        Some('@'..='~') => {
            rest.next();
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escape_sequences_and_control_characters_are_removed() {
        for (raw, clean) in [
            ("plain\ttext\r\n", "plain\ttext\r\n"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            (
                "\u{1b}]8;;https://x\u{7}link\u{1b}]8;;\u{1b}\\ after",
                "link after",
            ),
            ("nul\0bell\u{7}c1\u{9b}", "nulbellc1"),
            ("\u{1b}Mup \u{1b}", "up "),
            ("\u{1b}[cut", "ut"),
            ("\u{1b}[12", ""),
        ] {
            assert_eq!(printable(raw), clean, "{raw:?}");
        }
    }

    #[test]
    fn long_text_is_truncated_at_a_character_boundary_with_a_marker() {
        let text = "ä".repeat(10);
        let short = shorten(text.as_str().into(), 5);
        assert_eq!(short, "ää\n[truncated: the first 4 of 20 bytes are shown]");
        assert_eq!(shorten("abc".into(), 3), "abc");
    }

    proptest! {
        #[test]
        fn no_unprintable_character_remains(text in any::<String>()) {
            prop_assert!(!printable(&text).chars().any(is_unprintable));
        }

        #[test]
        fn printable_text_is_unchanged(text in "[^\\p{Cc}]*") {
            prop_assert_eq!(printable(&text), text.as_str());
        }
    }
}
