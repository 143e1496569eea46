//! Keys that fail under concurrent requests, in every provider's dialect.

use futures_util::future::join_all;

use crate::serve::test_gateway::TestGateway;
use crate::serve::vendor::{Vendor, VendorReply, VendorRequest};

const KEYS: [&str; 3] = ["CANARY-1st-key", "CANARY-2nd-key", "CANARY-3rd-key"];

/// A kind of provider and its response.
const KINDS: [(&str, &str); 5] = [
    (
        "openai",
        r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}"#,
    ),
    (
        "openai-responses",
        r#"{"id":"r","object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"message","id":"o","status":"completed","role":"assistant","content":[{"type":"output_text","text":"yes","annotations":[]}]}],"usage":{"input_tokens":5,"output_tokens":1,"total_tokens":6}}"#,
    ),
    (
        "anthropic",
        r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"yes"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":1}}"#,
    ),
    (
        "google",
        r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"yes"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":1,"totalTokenCount":6}}"#,
    ),
    (
        "ollama-cloud",
        r#"{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"yes"},"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":1}"#,
    ),
];

/// How a bad key fails.
const FAILURES: [(u16, Option<&str>, &str); 5] = [
    (
        429,
        Some("600"),
        r#"{"error":{"message":"slow down","status":"RESOURCE_EXHAUSTED"}}"#,
    ),
    (429, None, r#"{"error":"slow down"}"#),
    (401, None, r#"{"error":{"message":"unknown key"}}"#),
    (402, None, r#"{"error":{"message":"no credit"}}"#),
    (
        403,
        None,
        r#"{"error":{"message":"API key not valid","status":"PERMISSION_DENIED","code":"invalid_api_key","type":"authentication_error","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}"#,
    ),
];

fn key_of(request: &VendorRequest) -> usize {
    let used = |key: &&str| request.head.contains(*key);
    KEYS.iter().position(used).expect("a known key")
}

fn body(conversation: usize) -> String {
    format!(
        r#"{{"model":"up/m","messages":[{{"role":"user","content":"conversation {conversation}"}}]}}"#
    )
}

#[tokio::test]
async fn no_concurrent_request_fails_while_one_key_serves() {
    for (kind, served) in KINDS {
        for (status, wait, error) in FAILURES {
            let vendor = Vendor::start(move |request| match key_of(request) {
                2 => VendorReply::new(200, served),
                _ => {
                    let reply = VendorReply::new(status, error);
                    wait.into_iter()
                        .fold(reply, |it, wait| it.header("retry-after", wait))
                }
            })
            .await;
            let keys = KEYS.map(|key| format!("\"{key}\"")).join(", ");
            let path = if kind.starts_with("openai") {
                "/v1"
            } else {
                ""
            };
            let config = format!(
                "[providers.up]\nkind = \"{kind}\"\nbase_url = \"http://{}{path}\"\napi_keys = [{keys}]\n",
                vendor.address()
            );
            let gateway = TestGateway::start(&config).await;
            let what = format!("{kind} {status} {wait:?}");
            for wave in 0..2 {
                let asking = (0..24).map(|number| {
                    let body = body(number % 8);
                    gateway.post("/v1/chat/completions", body)
                });
                for response in join_all(asking).await {
                    let text = response.text();
                    assert_eq!(response.status, 200, "{what}: {text}");
                    assert!(!text.contains("CANARY"), "{what}: {text}");
                }
                let of = |key| {
                    let all = vendor.requests();
                    all.iter().filter(|it| key_of(it) == key).count()
                };
                let failed = [of(0), of(1)];
                assert!(failed.iter().all(|calls| *calls > 0), "{what}: {failed:?}");
                match wave {
                    0 => assert!(failed.iter().all(|it| *it <= 24), "{what}: {failed:?}"),
                    _ => assert_eq!(of(2), 48, "{what}: the second wave knows"),
                }
            }
            let before = vendor.requests().len();
            let late = gateway.post("/v1/chat/completions", body(99)).await;
            assert_eq!(late.status, 200, "{what}: {}", late.text());
            assert_eq!(vendor.requests().len(), before + 1, "{what}: no detour");
            gateway.stop().await;
        }
    }
}
