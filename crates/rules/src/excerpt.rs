//! Excerpts of texts for traces: bounded, centred on the match, with keys redacted.

use std::ops::Range;

use majordomo::llm::redact;
use serde_json::Value;

/// Bytes shown on each side of a match.
const AROUND: usize = 80;
/// Bytes shown of a text without a match.
pub(super) const HEAD: usize = 120;
/// Bytes scanned on each side, so that a key is redacted even if it is cut off.
const SCANNED: usize = 160;
/// Longest word that is followed back to its start.
const MAX_WORD: usize = 4 * 1024;
const CUT: char = '…';

/// The start of a text.
pub(super) fn head(text: &str) -> String {
    let scrubbed = redact(cut(text));
    let end = floor(&scrubbed, HEAD);
    let mut shown = scrubbed[..end].to_owned();
    if end < scrubbed.len() || text.len() > HEAD + SCANNED {
        shown.push(CUT);
    }
    shown
}

/// The start of a text, long enough for [`head`] to recognize keys in it.
pub(super) fn cut(text: &str) -> &str {
    &text[..floor(text, HEAD + SCANNED)]
}

/// A condition's value with its strings truncated.
pub(super) fn of_value(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(head(text)),
        Value::Array(members) => members.iter().map(of_value).collect(),
        Value::Object(fields) => {
            let fields = fields.iter();
            fields.map(|(k, v)| (head(k), of_value(v))).collect()
        }
        value => value.clone(),
    }
}

/// A match with its surroundings.
pub(super) fn around(text: &str, hit: Range<usize>) -> String {
    let start = floor(text, hit.start);
    // A key that starts before the window could lose its recognizable prefix or the
    // preceding `Bearer`, so the scan starts two words earlier.
    let from = floor(text, start.saturating_sub(SCANNED));
    let from = word_start(text, word_start(text, from));
    let to = floor(text, hit.end.min(start + AROUND) + SCANNED);
    let scrubbed = redact(&text[from..to]);
    let at = floor(&scrubbed, redact(&text[from..start]).len());
    let hit_len = (hit.end - hit.start).min(AROUND);

    let left = floor(&scrubbed, at.saturating_sub(AROUND));
    let right = floor(&scrubbed, at + hit_len + AROUND);
    let mut shown = String::with_capacity(right - left + 2 * CUT.len_utf8());
    if from > 0 || left > 0 {
        shown.push(CUT);
    }
    shown.push_str(&scrubbed[left..right]);
    if right < scrubbed.len() || to < text.len() {
        shown.push(CUT);
    }
    shown
}

/// The space before the word that ends before `at`.
fn word_start(text: &str, at: usize) -> usize {
    let lowest = floor(text, at.saturating_sub(MAX_WORD));
    let before = text[lowest..at].trim_end();
    lowest + before.rfind(char::is_whitespace).unwrap_or(0)
}

/// The nearest character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn around_word(text: &str, word: &str) -> String {
        let start = text.find(word).expect("the word is there");
        around(text, start..start + word.len())
    }

    #[test]
    fn a_short_text_is_shown_whole() {
        assert_eq!(head("hello"), "hello");
        assert_eq!(around_word("say hello twice", "hello"), "say hello twice");
    }

    #[test]
    fn keys_are_redacted_even_if_the_window_cuts_their_start() {
        let key = format!("sk-{}", "CANARY".repeat(20));
        let text = format!("before {key} needle after");
        for word in ["needle", "CANARYCANARY", "after"] {
            let shown = around_word(&text, word);
            assert!(!shown.contains("CANARY"), "{shown}");
        }
        let text = format!("Authorization: Bearer {} needle", "CANARY".repeat(30));
        assert!(!around_word(&text, "needle").contains("CANARY"));
        let text = format!("{}sk-CANARYCANARY", "x ".repeat(57));
        assert!(!head(&text).contains("CANARY"), "{}", head(&text));
    }

    #[test]
    fn a_match_inside_a_very_long_word_is_shown() {
        let text = format!("{}NEEDLE{}", "x".repeat(9_000), "y".repeat(9_000));
        let shown = around_word(&text, "NEEDLE");
        assert!(shown.contains("NEEDLE") && shown.len() < 300, "{shown}");
    }

    proptest! {
        #[test]
        fn no_range_in_any_text_panics(text in ".*", start in 0..400_usize, len in 0..400_usize) {
            let start = floor(&text, start);
            let end = floor(&text, start + len);
            around(&text, start..end);
            head(&text);
        }
    }
}
