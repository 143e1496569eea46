//! No conversation text and no key reaches the collector.

use majordomo_testkit::{Script, Upstream};

use crate::collector::Collector;
use crate::test_gateway::TestGateway;

/// The upstream echoes the prompt, first in an error, then in a response.
#[tokio::test]
async fn no_span_contains_a_key_or_conversation_text() {
    let error = r#"{"error":{"message":"MARKER-prompt with key CANARY-upstream","type":"x"}}"#;
    let response = r#"{"id":"sk-CANARY-repeated","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"MARKER-answer"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
    let says = |status, body: &'static str| {
        let script = Script::new().read_request();
        script.respond(status, "application/json", body)
    };
    let scripts = [says(500, error), says(200, response), says(400, error)];
    let upstream = Upstream::start(scripts).await;
    let collector = Collector::start().await;
    let config = format!(
        r#"
[chain]
retries = 0
[[keys]]
name = "laptop"
key = "CANARY-client"
[providers.up]
kind = "openai"
base_url = "http://{}/v1"
api_key = "CANARY-upstream"
[[routes]]
model = "coder"
services = [ {{ spec = "up/a" }}, {{ spec = "up/b", tier = 1 }} ]
balance = "tier"
[[routes.smart]]
name = "reads the prompt"
when = [
  {{ position = "latest_user", op = "contains", value = "MARKER" }},
  {{ position = "header", op = "contains", name = "x-secret", value = "CANARY" }},
]
services = [ {{ spec = "up/c" }} ]
"#,
        upstream.address()
    );
    let endpoint = format!("http://{}", collector.address);
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &*endpoint),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "authorization=Bearer%20CANARY-collector",
        ),
    ];
    let gateway = TestGateway::start(&config, &variables).await;
    let headers = [
        ("authorization", "Bearer CANARY-client"),
        ("x-secret", "CANARY-header"),
    ];
    let wrong = [("authorization", "Bearer CANARY-wrong")];
    let body = r#"{"model":"coder","stop":["MARKER-stop"],"user":"MARKER-user","messages":[{"role":"system","content":"MARKER-system"},{"role":"user","content":"MARKER-prompt"}],"tools":[{"type":"function","function":{"name":"MARKER-tool","parameters":{"type":"object"}}}]}"#;
    let path = "/v1/chat/completions";
    let (served, _) = gateway.post(path, &headers, body).await;
    let (refused, _) = gateway.post(path, &headers, body).await;
    let (stranger, _) = gateway.post(path, &wrong, body).await;
    let named = body.replace("coder", "sk-CANARY-in-the-wrong-place");
    let (unknown, _) = gateway.post(path, &headers, &named).await;
    let (lost, _) = gateway
        .post("/MARKER-path?key=CANARY-client", &[], body)
        .await;
    assert_eq!(
        [served, refused, stranger, unknown, lost].map(|status| status.as_u16()),
        [200, 400, 401, 404, 404]
    );
    gateway.stop().await;

    assert_eq!(collector.spans().len(), 5 + 3, "all of them are exported");
    let batches = collector.batches();
    let auth = &batches[0].headers["authorization"];
    assert_eq!(auth, "Bearer CANARY-collector", "only the collector's own");
    for batch in batches {
        let text = String::from_utf8_lossy(&batch.body);
        for secret in ["CANARY", "MARKER"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}

/// The upstream echoes whatever it was sent: one of several keys, a client's own credential, and
/// the prompt of an image.
#[tokio::test]
async fn no_span_contains_a_second_key_a_clients_credential_or_the_prompt_of_an_image() {
    let error = r#"{"error":{"message":"no CANARY-first, CANARY-second, CANARY-own or CANARY-account; MARKER-image","type":"CANARY-own"}}"#;
    let drawn =
        r#"{"created":1,"data":[{"b64_json":"iVBORw0KGgo=","revised_prompt":"MARKER-image"}]}"#;
    let says = |status, body: &'static str| {
        let script = Script::new().read_request();
        script.respond(status, "application/json", body)
    };
    // Both keys are refused, then the client's own, then an image is drawn and another refused.
    let scripts = [
        says(401, error),
        says(401, error),
        says(403, error),
        says(200, drawn),
        says(400, error),
    ];
    let upstream = Upstream::start(scripts).await;
    let collector = Collector::start().await;
    let address = upstream.address();
    let config = format!(
        r#"
[chain]
retries = 0
[[keys]]
name = "laptop"
key = "CANARY-client"
[providers.keyed]
kind = "openai"
base_url = "http://{address}/v1"
api_keys = ["CANARY-first", "CANARY-second"]
[providers.own]
kind = "openai"
base_url = "http://{address}/v1"
api_key = "CANARY-third"
client_credentials = "forward"
"#
    );
    let gateway = TestGateway::reporting_to(&collector, &config).await;
    let key = [("x-majordomo-key", "CANARY-client")];
    let beside = [
        ("x-majordomo-key", "CANARY-client"),
        ("authorization", "Bearer CANARY-own"),
        ("chatgpt-account-id", "CANARY-account"),
    ];
    let chat = |model: &str| {
        format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"MARKER-chat"}}]}}"#)
    };
    let image = r#"{"model":"own/m","prompt":"MARKER-image","n":1}"#;
    let mut statuses = Vec::new();
    for (path, headers, body) in [
        ("/v1/chat/completions", &key[..], &*chat("keyed/m")),
        ("/v1/chat/completions", &beside[..], &*chat("own/m")),
        ("/v1/images/generations", &key[..], image),
        ("/v1/images/generations", &key[..], image),
    ] {
        statuses.push(gateway.post(path, headers, body).await.0.as_u16());
    }
    assert_eq!(statuses[2..], [200, 400], "{statuses:?}");
    gateway.stop().await;

    let heads: String = upstream
        .requests()
        .iter()
        .map(|request| request.head.clone())
        .collect();
    for secret in ["first", "second", "own", "account"] {
        assert!(
            heads.contains(&format!("CANARY-{secret}")),
            "{secret} was used"
        );
    }
    assert_eq!(collector.spans().len(), 4 + 5, "all of them are exported");
    for batch in collector.batches() {
        let text = String::from_utf8_lossy(&batch.body);
        for secret in ["CANARY", "MARKER"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}
