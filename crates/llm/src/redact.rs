//! Redacts keys, URL queries and URL credentials in text for logs and errors.
//!
//! Providers echo keys in their errors, and HTTP crates print whole URLs. The scan is
//! word by word, without regular expressions, and errs on the side of redacting.

use std::borrow::Cow;

pub(crate) const HIDDEN: &str = "[hidden]";

/// Key prefixes of common providers.
const KEY_PREFIXES: &[&str] = &[
    "sk-", "sk_", "pk-", "gsk_", "xai-", "AIza", "hf_", "r8_", "nvapi-", "fw_", "tgp_", "csk-",
    "mjd_", "ya29.", "eyJ",
];
/// Shorter words are not considered keys.
pub(crate) const MIN_KEY_LEN: usize = 8;

/// Replaces keys, URL queries and URL credentials with `[hidden]`.
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
    for segment in text.split_inclusive(is_boundary) {
        let word = segment.trim_end_matches(is_boundary);
        let rest = &segment[word.len()..];
        if after_bearer && word.len() >= MIN_KEY_LEN {
            clean.push_str(HIDDEN);
        } else {
            clean.push_str(&redact_word(word));
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

fn redact_word(word: &str) -> Cow<'_, str> {
    if let Some((scheme, rest)) = word.split_once("://") {
        return Cow::Owned(format!("{scheme}://{}", redact_address(rest)));
    }
    // `key=sk-…` and `key:sk-…`: redact the value only.
    let start = word.rfind(['=', ':']).map_or(0, |at| at + 1);
    let value = &word[start..];
    if is_key(value) {
        return Cow::Owned(format!("{}{HIDDEN}", &word[..start]));
    }
    Cow::Borrowed(word)
}

fn redact_address(address: &str) -> String {
    let (authority_and_path, query) = match address.split_once('?') {
        Some((before, _)) => (before, format!("?{HIDDEN}")),
        None => (address, String::new()),
    };
    let (host, path) = match authority_and_path.find('/') {
        Some(at) => authority_and_path.split_at(at),
        None => (authority_and_path, ""),
    };
    let host = match host.rsplit_once('@') {
        Some((_, host)) => format!("{HIDDEN}@{host}"),
        None => host.to_owned(),
    };
    format!("{host}{path}{query}")
}

fn is_key(word: &str) -> bool {
    word.len() >= MIN_KEY_LEN && KEY_PREFIXES.iter().any(|prefix| word.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_are_redacted_in_every_known_position() {
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
    fn ordinary_text_is_unchanged() {
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
        fn redaction_never_panics_and_is_idempotent(text in ".*") {
            let once = redact(&text);
            prop_assert_eq!(redact(&once), once);
        }
    }
}
