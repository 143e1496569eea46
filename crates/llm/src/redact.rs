//! Takes keys and URL queries out of a text that people will see.
//!
//! Providers echo keys in their errors and HTTP crates print whole URLs. This
//! works on words, so it needs no pattern engine; it would rather hide too much.

use std::borrow::Cow;

pub(crate) const HIDDEN: &str = "[hidden]";

/// Prefixes that the common providers give their keys.
const KEY_PREFIXES: &[&str] = &[
    "sk-", "sk_", "pk-", "gsk_", "xai-", "AIza", "hf_", "r8_", "nvapi-", "fw_", "tgp_", "csk-",
    "mjd_", "ya29.", "eyJ",
];
pub(crate) const SHORTEST_KEY: usize = 8;

/// The text without keys, URL queries and URL user names.
///
/// ```
/// use majordomo_llm::redact;
///
/// let text = redact("POST https://api.example/v1?key=abc failed for sk-12345678");
/// assert_eq!(text, "POST https://api.example/v1?[hidden] failed for [hidden]");
/// ```
pub fn redact(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut after_bearer = false;
    for piece in text.split_inclusive(is_boundary) {
        let word = piece.trim_end_matches(is_boundary);
        let rest = &piece[word.len()..];
        if after_bearer && word.len() >= SHORTEST_KEY {
            clean.push_str(HIDDEN);
        } else {
            clean.push_str(&scrub_word(word));
        }
        clean.push_str(rest);
        after_bearer = word.eq_ignore_ascii_case("bearer") || (after_bearer && word.is_empty());
    }
    clean
}

fn is_boundary(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '"' | '\'' | '`' | '(' | ')' | '<' | '>' | ',' | ';' | '{' | '}'
        )
}

fn scrub_word(word: &str) -> Cow<'_, str> {
    if let Some((scheme, rest)) = word.split_once("://") {
        return Cow::Owned(format!("{scheme}://{}", scrub_address(rest)));
    }
    // `key=sk-…` and `key:sk-…` hide the value only.
    let start = word.rfind(['=', ':']).map_or(0, |at| at + 1);
    let value = &word[start..];
    if is_key(value) {
        return Cow::Owned(format!("{}{HIDDEN}", &word[..start]));
    }
    Cow::Borrowed(word)
}

fn scrub_address(address: &str) -> String {
    let (place, query) = match address.split_once('?') {
        Some((place, _)) => (place, format!("?{HIDDEN}")),
        None => (address, String::new()),
    };
    let (host, path) = match place.find('/') {
        Some(at) => place.split_at(at),
        None => (place, ""),
    };
    let host = match host.rsplit_once('@') {
        Some((_, host)) => format!("{HIDDEN}@{host}"),
        None => host.to_owned(),
    };
    format!("{host}{path}{query}")
}

fn is_key(word: &str) -> bool {
    word.len() >= SHORTEST_KEY && KEY_PREFIXES.iter().any(|prefix| word.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_are_hidden_in_all_places_where_they_were_seen() {
        for text in [
            "Incorrect API key provided: sk-CANARYCANARY.",
            "{\"key\":\"AIzaCANARYCANARY\"}",
            "authorization: Bearer CANARYCANARY",
            "https://user:CANARY@host/path",
            "https://host/v1beta/models?key=CANARY&alt=sse",
            "foreman://CANARYTOKEN@m1.example.com",
            "key=gsk_CANARYCANARY",
        ] {
            let clean = redact(text);
            assert!(!clean.contains("CANARY"), "{clean}");
        }
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        for text in [
            "prompt is too long: 9 tokens > 8 maximum",
            "model 'qwen3:30b' not found, try https://ollama.com/library",
            "sk-1",
            "",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_scrubbing_twice_changes_nothing(text in ".*") {
            let once = redact(&text);
            prop_assert_eq!(redact(&once), once);
        }
    }
}
