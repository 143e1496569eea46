//! The headers that carry a request's trace and id to providers. May use `exchange` and `record`.

use std::sync::Arc;

use http::{HeaderMap, HeaderName};
use majordomo::llm::TraceHeaders;

use crate::exchange::Exchange;
use crate::record::TraceParent;

/// The header with which clients name their requests.
static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest id of a client.
const LONGEST_ID: usize = 128;

/// The id that a client gave its request, unless it is too long or contains characters that
/// logs and other programs might misread.
pub(crate) fn client_request_id(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(&REQUEST_ID).iter();
    let id = values.next()?.to_str().ok()?.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/+=@".contains(c);
    let valid = (1..=LONGEST_ID).contains(&id.len()) && id.chars().all(plain);
    (valid && values.next().is_none()).then_some(id)
}

/// The client's trace and id, and those of the gateway if it records spans. `every` adds the
/// gateway's id if there is no other. A malformed `traceparent` is not forwarded.
pub(crate) fn trace_headers(
    headers: &HeaderMap,
    exchange: &Exchange,
    every: bool,
) -> Option<Arc<TraceHeaders>> {
    let own = exchange.span_ids();
    let parent = TraceParent::of(headers);
    let ids = parent.as_ref().and_then(TraceParent::ids);
    let traceparent = own.or(ids).map(|ids| ids.to_string());
    let request_id = exchange.client_request_id();
    if traceparent.is_none() && request_id.is_none() && !every {
        return None;
    }
    let request_id = request_id.or_else(|| own.map(|_| exchange.id()));
    Some(Arc::new(TraceHeaders {
        traceparent,
        tracestate: ids.and_then(|_| parent?.tracestate),
        request_id: request_id.map(str::to_owned),
        own_id: every.then(|| exchange.id().into()),
    }))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_clients_id_is_kept_only_if_it_is_short_and_plain() {
        let long = "x".repeat(LONGEST_ID + 1);
        for (values, kept) in [
            (&["abc-1_2.3:4/5+6=@"][..], true),
            (&[" padded "], true),
            (&[""], false),
            (&["two words"], false),
            (&["quote\"d"], false),
            (&["<script>"], false),
            (&[&*long], false),
            (&["one", "two"], false),
            (&[], false),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(&REQUEST_ID, HeaderValue::from_str(value).unwrap());
            }
            assert_eq!(client_request_id(&headers).is_some(), kept, "{values:?}");
        }
    }
}
