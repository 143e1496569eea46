//! The client headers that go on to a target of the same dialect.

use http::HeaderMap;

/// Headers of a client's request that belong to its dialect, and are no secret.
const PASSED_ON: [&str; 3] = ["anthropic-beta", "anthropic-version", "openai-beta"];

/// What a target of the same dialect gets of a client's headers.
pub(crate) fn passed_on(headers: &HeaderMap) -> Vec<(String, String)> {
    let named = PASSED_ON.iter().flat_map(|name| {
        let values = headers.get_all(*name).iter();
        values.map(move |value| (*name, value))
    });
    let text =
        named.filter_map(|(name, value)| Some((name.to_owned(), value.to_str().ok()?.to_owned())));
    text.collect()
}
