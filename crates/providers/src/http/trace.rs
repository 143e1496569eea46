//! Sends a request's trace and id to a provider.

use ::http::{HeaderMap, HeaderName, HeaderValue};
use majordomo_llm::TraceHeaders;

/// The headers for a provider with this setting; values that no header can hold are omitted.
pub(super) fn trace_headers(trace: &TraceHeaders, setting: Option<bool>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if setting == Some(false) {
        return headers;
    }
    let own_id = trace.own_id.as_deref().filter(|_| setting == Some(true));
    for (name, value) in [
        ("traceparent", trace.traceparent.as_deref()),
        ("tracestate", trace.tracestate.as_deref()),
        ("x-request-id", trace.request_id.as_deref().or(own_id)),
    ] {
        if let Some(Ok(value)) = value.map(HeaderValue::from_str) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_decides_what_is_told() {
        let trace = TraceHeaders {
            traceparent: Some("00-a-b-01".into()),
            own_id: Some("own".into()),
            ..TraceHeaders::default()
        };
        for (setting, names) in [
            (None, &["traceparent"][..]),
            (Some(true), &["traceparent", "x-request-id"]),
            (Some(false), &[]),
        ] {
            let headers = trace_headers(&trace, setting);
            let found: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
            assert_eq!(found, names, "{setting:?}");
        }
    }
}
