//! Client headers that are forwarded to a target of the same dialect.

use http::{HeaderMap, HeaderName};

/// Dialect-specific headers without secrets.
static FORWARDED: [HeaderName; 3] = [
    HeaderName::from_static("anthropic-beta"),
    HeaderName::from_static("anthropic-version"),
    HeaderName::from_static("openai-beta"),
];

/// The forwarded headers of a client's request.
pub(crate) fn forwarded_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let named = FORWARDED.iter().flat_map(|name| {
        let values = headers.get_all(name).iter();
        values.map(move |value| (name, value))
    });
    let text = named.filter_map(|(name, value)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    });
    text.collect()
}
