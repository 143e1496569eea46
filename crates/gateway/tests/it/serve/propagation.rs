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

#[tokio::test]
async fn calls_for_images_embeddings_and_counts_carry_them_as_well() {
    const IMAGE: &str = "iVBORw0KGgo=";
    let vendor = Vendor::start(|request| {
        let path = request.head.split(' ').nth(1).unwrap_or_default();
        let body = match path {
            "/v1/images/generations" => format!(r#"{{"data":[{{"b64_json":"{IMAGE}"}}]}}"#),
            "/sdapi/v1/txt2img" => format!(r#"{{"images":["{IMAGE}"]}}"#),
            "/v1beta/models/m:generateContent" => format!(
                r#"{{"candidates":[{{"content":{{"role":"model","parts":[{{"inlineData":{{"mimeType":"image/png","data":"{IMAGE}"}}}}]}},"finishReason":"STOP"}}]}}"#
            ),
            "/v1/embeddings" => r#"{"data":[{"index":0,"embedding":[1.0]}]}"#.to_owned(),
            "/v1/messages/count_tokens" => r#"{"input_tokens":7}"#.to_owned(),
            _ => panic!("{path}"),
        };
        VendorReply::new(200, body)
    })
    .await;
    let provider = |(name, kind, path): (&str, &str, &str)| {
        format!(
            "[providers.{name}]\nkind = \"{kind}\"\nbase_url = \"http://{}{path}\"\napi_key = \"canary\"\n",
            vendor.address()
        )
    };
    let config = [
        ("up", "openai", "/v1"),
        ("swap", "llama-swap", ""),
        ("gem", "google", ""),
        ("claude", "anthropic", ""),
    ]
    .map(provider)
    .concat();
    let gateway = TestGateway::start(&config).await;
    let headers = [
        ("traceparent", PARENT),
        ("tracestate", "vendor=1"),
        ("x-request-id", "build-17"),
    ];
    let image = |target: &str| format!(r#"{{"model":"{target}/m","prompt":"a pear"}}"#);
    for (path, body) in [
        ("/v1/images/generations", image("up")),
        ("/v1/images/generations", image("swap")),
        ("/v1/images/generations", image("gem")),
        (
            "/v1/embeddings",
            r#"{"model":"up/m","input":"a pear"}"#.to_owned(),
        ),
        (
            "/v1/messages/count_tokens",
            r#"{"model":"claude/m","messages":[{"role":"user","content":"hi"}]}"#.to_owned(),
        ),
    ] {
        let mut all = vec![("content-type", "application/json")];
        all.extend_from_slice(&headers);
        let served = gateway.request(path, &all, &body).await;
        assert_eq!(served.status, 200, "{path} {body}: {}", served.text());
        assert_eq!(served.header("x-request-id"), Some("build-17"), "{path}");
        let request = vendor.requests().pop().expect("a request");
        for (name, value) in headers {
            assert_eq!(request.header(name), Some(value), "{path} {body}");
        }
    }
    gateway.stop().await;
}
