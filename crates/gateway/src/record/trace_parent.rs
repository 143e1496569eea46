//! The W3C Trace Context headers of a request.

use http::HeaderMap;

/// Longest `traceparent`: version 00 has 55 bytes, later ones may append fields.
const LONGEST_PARENT: usize = 256;
/// Longest forwarded `tracestate`, the minimum that vendors must propagate.
const LONGEST_STATE: usize = 512;

/// The headers `traceparent` and `tracestate`, as received.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TraceParent {
    /// The header `traceparent`; not validated.
    pub traceparent: String,
    /// The header `tracestate`; not validated.
    pub tracestate: Option<String>,
}

impl TraceParent {
    /// Reads the headers; `None` without exactly one `traceparent`.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        Some(Self {
            traceparent: only(headers, "traceparent", LONGEST_PARENT)?,
            tracestate: only(headers, "tracestate", LONGEST_STATE),
        })
    }
}

/// A header that occurs exactly once, as text.
fn only(headers: &HeaderMap, name: &str, longest: usize) -> Option<String> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?.trim();
    let valid = values.next().is_none() && value.len() <= longest;
    valid.then(|| value.to_owned())
}
