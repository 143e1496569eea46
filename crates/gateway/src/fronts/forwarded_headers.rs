//! Client headers that are forwarded to a target of the same dialect.

use http::HeaderMap;

/// Dialect-specific headers without secrets.
const FORWARDED: [&str; 3] = ["anthropic-beta", "anthropic-version", "openai-beta"];

/// The forwarded headers of a client's request.
pub(crate) fn forwarded_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let named = FORWARDED.iter().flat_map(|name| {
        let values = headers.get_all(*name).iter();
        values.map(move |value| (*name, value))
    });
    let text =
        named.filter_map(|(name, value)| Some((name.to_owned(), value.to_str().ok()?.to_owned())));
    text.collect()
}
