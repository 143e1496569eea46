//! Near-miss keys, restricted keys, and the access of each key.

use sha2::{Digest, Sha256};

use crate::test_gateway::{CLIENT_KEY, Client, TestGateway, case, post, statuses};

/// As long as a generated key, so that parts of it can be tried.
const LONG_KEY: &str = "CANARY-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRS";

/// Every documented endpoint that needs a key, with method and body.
const ROUTES: [(&str, &str, &str); 18] = [
    ("POST", "/v1/chat/completions", "{}"),
    ("POST", "/v1/responses", "{}"),
    ("GET", "/v1/models", ""),
    ("GET", "/v1/models/demo/text", ""),
    ("POST", "/v1/messages", "{}"),
    ("POST", "/v1/messages/count_tokens", "{}"),
    ("POST", "/v1beta/models/demo/text:generateContent", "{}"),
    (
        "POST",
        "/v1beta/models/demo/text:streamGenerateContent?alt=sse",
        "{}",
    ),
    ("POST", "/v1beta/models/demo/text:countTokens", "{}"),
    ("GET", "/v1beta/models", ""),
    ("POST", "/api/chat", "{}"),
    ("POST", "/api/generate", "{}"),
    ("GET", "/api/tags", ""),
    ("POST", "/api/show", "{}"),
    ("POST", "/v1/embeddings", "{}"),
    ("POST", "/api/embed", "{}"),
    ("POST", "/v1/images/generations", "{}"),
    ("POST", "/v1/images/edits", "{}"),
];

fn request((method, path, body): (&str, &str, &str), headers: &str) -> String {
    post(path, &format!("{headers}connection: close\r\n"), body).replacen("POST", method, 1)
}

fn hashed(key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A key stored as its hash, alongside the one that the test gateway uses.
fn keys(models: &str) -> String {
    format!(
        "[[keys]]\nname = \"tests\"\nkey = \"{CLIENT_KEY}\"\n\
         [[keys]]\nname = \"long\"\nhash = \"sha256:{}\"\n{models}",
        hashed(LONG_KEY)
    )
}

#[test]
fn a_key_prefix_or_hash_is_not_accepted_as_a_key() {
    case(async {
        let gateway = TestGateway::start(&keys("")).await;
        let hash = hashed(LONG_KEY);
        let listing = ("GET", "/v1/models", "");
        for wrong in [
            &LONG_KEY[..20],
            &LONG_KEY[..40],
            &LONG_KEY[..LONG_KEY.len() - 1],
            &format!("{LONG_KEY}x"),
            &LONG_KEY.to_lowercase(),
            &hash,
            &hash.to_uppercase(),
            &format!("sha256:{hash}"),
            "",
            " ",
        ] {
            let response = gateway
                .raw(request(listing, &format!("x-api-key: {wrong}\r\n")))
                .await;
            assert_eq!(statuses(&response), [401], "{response}");
        }
        let response = gateway
            .raw(request(listing, &format!("x-api-key: {LONG_KEY}\r\n")))
            .await;
        assert_eq!(statuses(&response), [200], "{response}");
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_restricted_key_gets_the_same_verdict_in_every_header() {
    case(async {
        let gateway = TestGateway::start(&keys("models = [\"demo/vision\"]\n")).await;
        let spellings = [
            format!("authorization: Bearer {LONG_KEY}\r\n"),
            format!("authorization: bearer {LONG_KEY}\r\n"),
            format!("x-api-key: {LONG_KEY}\r\n"),
            format!("x-goog-api-key: {LONG_KEY}\r\n"),
            format!("x-api-key: {LONG_KEY}\r\nauthorization: Bearer {LONG_KEY}\r\n"),
        ];
        let message = r#""messages":[{"role":"user","content":"hi"}]"#;
        for (path, more) in [
            ("/v1/chat/completions", message.to_owned()),
            ("/v1/responses", r#""input":"hi""#.to_owned()),
            ("/v1/messages", format!(r#""max_tokens":9,{message}"#)),
            ("/api/chat", format!(r#""stream":false,{message}"#)),
            (
                "/api/generate",
                r#""stream":false,"prompt":"hi""#.to_owned(),
            ),
        ] {
            for (model, verdict) in [("demo/text", 403), ("demo/vision", 200)] {
                let body = format!(r#"{{"model":"{model}",{more}}}"#);
                for spelling in &spellings {
                    let response = gateway.raw(request(("POST", path, &body), spelling)).await;
                    assert_eq!(
                        statuses(&response),
                        [verdict],
                        "{path} {spelling}: {response}"
                    );
                    assert!(!response.contains("HTTP 403"), "{response}");
                }
            }
        }
        // The header of Azure's clients is not a credential here.
        let azure = format!("api-key: {LONG_KEY}\r\n");
        let response = gateway
            .raw(request(("GET", "/v1/models", ""), &azure))
            .await;
        assert_eq!(statuses(&response), [401], "{response}");
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn without_a_key_only_health_checks_respond() {
    case(async {
        let gateway = TestGateway::start(&keys("")).await;
        for route in ROUTES {
            let response = gateway.raw(request(route, "")).await;
            assert_eq!(statuses(&response), [401], "{route:?}: {response}");
            assert!(!response.contains("demo/"), "{route:?}: {response}");
            assert!(!response.contains("HTTP 401"), "{response}");
        }
        for prefix in ["/openai", "/anthropic", "/genai", "/ollama", ""] {
            let path = format!("{prefix}/v1/models");
            let response = gateway.raw(request(("GET", &path, ""), "")).await;
            assert_eq!(statuses(&response), [401], "{path}: {response}");
        }
        for path in ["/", "/healthz", "/readyz"] {
            let response = gateway.raw(request(("GET", path, ""), "")).await;
            assert_eq!(statuses(&response), [200], "{path}: {response}");
            assert!(!response.contains("demo/"), "{path}: {response}");
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn undocumented_paths_are_not_found_even_with_a_key() {
    case(async {
        let gateway = TestGateway::start(&keys("")).await;
        let key = format!("x-api-key: {LONG_KEY}\r\n");
        for path in [
            "/v1",
            "/v1/",
            "/v1/edits",
            "/v1/files",
            "/v1/keys",
            "/admin",
            "/config",
            "/api",
            "/api/pull",
            "/api/delete",
            "/v1beta",
            "/docs",
            "/debug/pprof",
            "/.env",
            "/favicon.ico",
            "/key/generate",
            "/model/new",
            "/mcp",
            "/api/health",
        ] {
            for method in ["GET", "POST"] {
                let response = gateway.raw(request((method, path, ""), &key)).await;
                let found = statuses(&response);
                assert!(
                    found == [404] || found == [405],
                    "{method} {path}: {response}"
                );
            }
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_client_key_cannot_reach_operator_pages_on_the_client_listener() {
    case(async {
        let gateway = TestGateway::start(&keys("")).await;
        let key = format!("x-api-key: {LONG_KEY}\r\n");
        for path in ["/metrics", "/api/health", "/api/explain"] {
            let response = gateway.raw(request(("GET", path, ""), &key)).await;
            assert_eq!(statuses(&response), [404], "{path}: {response}");
        }
        // The operator listener serves no model.
        let mut client = Client::connect(gateway.operator).await;
        let host = gateway.operator;
        let chat_request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\n{key}connection: close\r\ncontent-length: 2\r\n\r\n{{}}"
        );
        client.send(chat_request).await;
        assert_eq!(statuses(&client.rest().await), [404]);
        gateway.assert_invariants(client).await;
    });
}
