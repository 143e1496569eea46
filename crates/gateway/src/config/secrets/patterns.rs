//! Recognizes secrets by their form: credentials and queries in URLs, tokens.
//!
//! A safety net below [`positions`](super::positions), for misplaced secrets. It prefers
//! false positives, but leaves model names, addresses and words alone.

use std::ops::Range;

use super::STAR;
use super::names::is_secret_name;

/// Prefixes of known services' keys, with the minimum length of such a key.
const PREFIXES: [(&str, usize); 24] = [
    ("sk-", 12),
    ("sk_", 12),
    ("mj-", 20),
    ("gsk_", 16),
    ("xai-", 20),
    ("pk_", 16),
    ("rk_", 16),
    ("hf_", 16),
    ("r8_", 16),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghs_", 16),
    ("github_pat_", 16),
    ("glpat-", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xapp-", 16),
    ("nvapi-", 16),
    ("pplx-", 16),
    ("tgp_", 16),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 20),
    ("eyJ", 20),
];

/// A longer run of mixed letters and digits is not a word.
const LONGEST_WORD: usize = 20;

/// The spans of a text that look like secrets, sorted and disjoint.
pub(in crate::config) fn secret_spans(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = addresses(text).collect();
    found.extend(tokens(text));
    found.extend(assigned(text));
    found.extend(after_schemes(text));
    merged(found)
}

/// Masks the parts of a text that look like secrets.
pub(in crate::config) fn redacted(text: &str) -> String {
    masked(text, &secret_spans(text))
}

/// Masks these spans, which are sorted and disjoint.
pub(in crate::config) fn masked(text: &str, places: &[Range<usize>]) -> String {
    let hidden = |at: usize| {
        let index = places.partition_point(|place| place.end <= at);
        places.get(index).is_some_and(|place| place.start <= at)
    };
    let stars = |(at, c)| if hidden(at) { STAR } else { c };
    text.char_indices().map(stars).collect()
}

/// Sorts spans and merges those that touch.
pub(in crate::config) fn merged(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.retain(|span| !span.is_empty());
    spans.sort_unstable_by_key(|span| (span.start, span.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}

/// For every URL: the part before its `@`, and the part after its `?` or `#`.
pub(in crate::config) fn addresses(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices("://").flat_map(|(at, mark)| {
        let start = at + mark.len();
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>');
        let rest = &text[start..];
        let rest = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let query = rest.find(['?', '#']);
        let before = &rest[..query.unwrap_or(rest.len())];
        let authority = &before[..before.find('/').unwrap_or(before.len())];
        let user = authority.rfind('@').map(|end| start..start + end);
        let user = user.filter(|user| !is_variables(&text[user.clone()]));
        let query = query.map(|at| start + at + 1..start + rest.len());
        [user, query].into_iter().flatten()
    })
}

/// Whether the text consists of variables only: `${USER}:${PASSWORD}`.
fn is_variables(text: &str) -> bool {
    let mut parts = text.split(':');
    parts.all(|part| part.is_empty() || super::names::is_reference(part))
}

/// Words with a known key prefix, or too long and mixed to be words.
fn tokens(text: &str) -> impl Iterator<Item = Range<usize>> {
    words(text, |c| c.is_ascii_alphanumeric() || "-_.".contains(c)).filter_map(|word| {
        let token = &text[word.clone()];
        (begins_like_a_key(token) || has_a_long_run(token) || is_uuid(token)).then_some(word)
    })
}

fn begins_like_a_key(word: &str) -> bool {
    let known = |(prefix, least): &(&str, usize)| word.len() >= *least && word.starts_with(prefix);
    PREFIXES.iter().any(known)
}

fn has_a_long_run(word: &str) -> bool {
    words(word, |c| c.is_ascii_alphanumeric()).any(|run| {
        let run = word[run].as_bytes();
        run.len() >= LONGEST_WORD
            && run.iter().any(u8::is_ascii_digit)
            && run.iter().any(u8::is_ascii_alphabetic)
    })
}

fn is_uuid(word: &str) -> bool {
    let hex = |part: &str| part.bytes().all(|digit| digit.is_ascii_hexdigit());
    let lengths: Vec<usize> = word.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && word.split('-').all(hex)
}

/// The values of `password=…` and the like.
fn assigned(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices('=').filter_map(|(at, _)| {
        let before = &text[..at];
        let named = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let name = &before[before.rfind(|c| !named(c)).map_or(0, |last| {
            last + before[last..].chars().next().map_or(1, char::len_utf8)
        })..];
        let rest = &text[at + 1..];
        let ends = |c: char| c.is_whitespace() || matches!(c, '&' | ';' | ',' | '"' | '\'');
        let end = rest.find(ends).unwrap_or(rest.len());
        is_secret_name(name).then(|| at + 1..at + 1 + end)
    })
}

/// The text after `Bearer ` and `Basic `.
fn after_schemes(text: &str) -> impl Iterator<Item = Range<usize>> {
    let lower = text.to_ascii_lowercase();
    let found: Vec<Range<usize>> = ["bearer ", "basic "]
        .into_iter()
        .flat_map(|scheme| {
            let places = lower.match_indices(scheme);
            places.map(|(at, _)| at + scheme.len()).collect::<Vec<_>>()
        })
        .map(|start| {
            let rest = text[start..].trim_start();
            let start = text.len() - rest.len();
            let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`');
            start..start + rest.find(ends).unwrap_or(rest.len())
        })
        .filter(|word| !is_variables(&text[word.clone()]))
        .collect();
    found.into_iter()
}

/// Maximal runs of matching characters.
fn words(text: &str, of: impl Fn(char) -> bool) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(&of)?;
        let end = text[start..].find(|c| !of(c));
        at = end.map_or(text.len(), |end| start + end);
        Some(start..at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_the_rest_stays_readable() {
        for (text, shown) in [
            ("https://me:CANARY@host/v1", "https://*********@host/v1"),
            ("https://host/v1?key=CANARY", "https://host/v1?**********"),
            ("https://host/v1#CANARY", "https://host/v1#******"),
            ("https://h/a@b c", "https://h/a@b c"),
            ("https://${USER}@h/", "https://${USER}@h/"),
            ("https://${USER}:CANARY@h/", "https://**************@h/"),
            (
                "https://h/v1/0123456789abcdef0123/x",
                "https://h/v1/********************/x",
            ),
            ("sk-proj-CANARY0", "***************"),
            ("Bearer CANARY", "Bearer ******"),
            ("a;password=CANARY;b", "a;password=******;b"),
            ("123e4567-e89b-12d3-a456-426614174000", &"*".repeat(36)),
        ] {
            assert_eq!(redacted(text), shown);
        }
        for harmless in [
            "127.0.0.1:4100",
            "http://127.0.0.1:8080/v1",
            "anthropic/claude-opus-4-5-20251101,groq/llama-4-maverick-17b-128e-instruct",
            "ollama-cloud/minimax-m3:cloud",
            "openai/{model}",
            "${GROQ_API_KEY}",
            "eyes for a blind model",
            "Europe/Berlin",
            "scheme://[token]host",
            "a = \"b\"",
            "ß=é",
        ] {
            assert_eq!(redacted(harmless), harmless);
        }
    }
}
