//! Traces and request ids that providers receive and clients get back.

use crate::serve::test_gateway::TestGateway;
use crate::serve::vendor::{Vendor, VendorReply, VendorRequest};

const SERVED: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}"#;
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The headers that a provider with this setting receives for a client with these headers, and
/// the id that the client gets back.
async fn told(trace: &str, headers: &[(&str, &str)]) -> (VendorRequest, Option<String>, String) {
    let vendor = Vendor::start(|_| VendorReply::new(200, SERVED)).await;
    let config = format!(
        "[providers.up]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\napi_key = \"canary\"\n{trace}\n",
        vendor.address()
    );
    let gateway = TestGateway::start(&config).await;
    let body = r#"{"model":"up/m","messages":[{"role":"user","content":"hi"}]}"#;
    let mut all = vec![("content-type", "application/json")];
    all.extend_from_slice(headers);
    let served = gateway.request("/v1/chat/completions", &all, body).await;
    assert_eq!(served.status, 200, "{}", served.text());
    let back = served.header("x-request-id").map(str::to_owned);
    let own = served
        .header("x-majordomo-request-id")
        .expect("an id")
        .to_owned();
    gateway.stop().await;
    (vendor.requests().pop().expect("a request"), back, own)
}

#[tokio::test]
async fn a_clients_trace_and_id_are_passed_on_unless_switched_off() {
    let headers = [
        ("traceparent", PARENT),
        ("tracestate", "vendor=1"),
        ("x-request-id", "build-17"),
    ];
    for (trace, told_of) in [("", true), ("trace = true", true), ("trace = false", false)] {
        let (request, back, _) = told(trace, &headers).await;
        for (name, value) in headers {
            let expected = told_of.then_some(value);
            assert_eq!(request.header(name), expected, "{trace}: {name}");
        }
        assert_eq!(back.as_deref(), Some("build-17"), "{trace}");
    }
}

#[tokio::test]
async fn nothing_is_added_unless_it_is_asked_for() {
    let (request, back, _) = told("", &[]).await;
    for name in ["traceparent", "tracestate", "x-request-id"] {
        assert_eq!(request.header(name), None, "{name}");
    }
    assert_eq!(back, None);
    let (request, _, own) = told("trace = true", &[]).await;
    assert_eq!(request.header("x-request-id"), Some(&*own));
    assert_eq!(request.header("traceparent"), None);
}

#[tokio::test]
async fn malformed_traces_and_ids_are_neither_passed_on_nor_echoed() {
    for headers in [
        [
            ("traceparent", "00-zz-b7ad6b7169203331-01"),
            ("tracestate", "a=b"),
            ("x-request-id", "two words"),
        ],
        [
            (
                "traceparent",
                "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            ),
            ("tracestate", "a=b"),
            ("x-request-id", "\"quoted\""),
        ],
        [
            (
                "traceparent",
                "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            ),
            ("tracestate", "a=b"),
            ("x-request-id", ""),
        ],
    ] {
        let (request, back, _) = told("", &headers).await;
        for (name, _) in headers {
            assert_eq!(request.header(name), None, "{name}");
        }
        assert_eq!(back, None);
    }
}
