//! The headers that carry a request's trace and id to a provider.

use std::sync::Arc;

/// The W3C Trace Context and the id of a request, for providers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceHeaders {
    /// The header `traceparent`, valid.
    pub traceparent: Option<String>,
    /// The header `tracestate`; only with a `traceparent`.
    pub tracestate: Option<String>,
    /// The header `x-request-id`.
    pub request_id: Option<String>,
    /// Sent as `x-request-id` if the client sent none, to providers that are configured to get
    /// the id of every request.
    pub own_id: Option<Arc<str>>,
}
