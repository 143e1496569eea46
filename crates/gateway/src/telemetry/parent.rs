//! The client's parent span, from the W3C Trace Context header `traceparent`.
//!
//! A malformed header is ignored, and the request starts a new trace.

use std::str::FromStr;

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};

use crate::record::TraceParent;

/// The parent context of a request's span; empty if it has none.
pub(super) fn context(parent: Option<&TraceParent>) -> Context {
    let Some(ids) = parent.and_then(TraceParent::ids) else {
        return Context::new();
    };
    let flags = TraceFlags::NOT_SAMPLED.with_sampled(ids.sampled);
    let (trace, span) = (TraceId::from_bytes(ids.trace), SpanId::from_bytes(ids.span));
    let state = parent.and_then(|parent| parent.tracestate.as_deref());
    let state = state.and_then(|state| TraceState::from_str(state).ok());
    let parent = SpanContext::new(trace, span, flags, true, state.unwrap_or_default());
    Context::new().with_remote_span_context(parent)
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};
    use proptest::prelude::*;

    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    fn parent(values: &[&str]) -> Option<(String, String, bool)> {
        let mut headers = HeaderMap::new();
        for value in values {
            let value = HeaderValue::from_str(value).unwrap();
            headers.append("traceparent", value);
        }
        let context = context(TraceParent::of(&headers).as_ref());
        let found = context.span().span_context().clone();
        let ids = (
            found.trace_id().to_string(),
            found.span_id().to_string(),
            found.is_sampled(),
        );
        found.is_valid().then_some(ids)
    }

    #[test]
    fn a_well_formed_header_is_the_parent() {
        let known = |sampled| Some((TRACE.to_owned(), SPAN.to_owned(), sampled));
        let rows = [
            (format!("00-{TRACE}-{SPAN}-01"), known(true)),
            (format!("00-{TRACE}-{SPAN}-00"), known(false)),
            (format!("00-{TRACE}-{SPAN}-ff"), known(true)),
            (format!("01-{TRACE}-{SPAN}-01-more"), known(true)),
        ];
        for (text, expected) in rows {
            assert_eq!(parent(&[&text]), expected, "{text}");
        }
    }

    #[test]
    fn a_malformed_header_is_no_parent() {
        let zero_trace = "0".repeat(32);
        let rows = [
            String::new(),
            "00".to_owned(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{zero_trace}-{SPAN}-01"),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{}-{SPAN}-01", &TRACE[1..]),
            format!("00-+{}-{SPAN}-01", &TRACE[1..]),
            format!("00-{TRACE}-{SPAN}-1"),
            format!("0-{TRACE}-{SPAN}-01"),
        ];
        for text in rows {
            assert_eq!(parent(&[&text]), None, "{text}");
        }
        let good = format!("00-{TRACE}-{SPAN}-01");
        assert_eq!(parent(&[&good, &good]), None, "two of them");
    }

    proptest! {
        #[test]
        fn any_header_is_parsed_without_a_panic(text in "[ -~]{0,80}") {
            let _ = parent(&[&text]);
        }
    }
}
