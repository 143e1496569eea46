//! CORS for the sites in `origins`.

use crate::browsers::{CHAT_BODY, keyed, request};
use crate::test_gateway::{CLIENT_KEY, TestGateway, case, header, statuses};

const UNKNOWN: &str =
    r#"{"model":"nobody","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
const SITE: &str = "https://chat.example";
const ORIGINS: &str = "[server]\norigins = [\"https://chat.example\", \"vscode-webview://\"]\n";
const STREAM: &str =
    r#"{"model":"demo/text","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;

#[test]
fn an_allowed_origin_can_read_responses_errors_and_streams() {
    for (config, key) in [
        (ORIGINS.to_owned(), String::new()),
        (keyed(ORIGINS), format!("x-api-key: {CLIENT_KEY}\r\n")),
    ] {
        case(async {
            let gateway = TestGateway::start(&config).await;
            for (line, body, status) in [
                ("GET /v1/models", "", 200),
                ("POST /v1/chat/completions", CHAT_BODY, 200),
                ("POST /v1/chat/completions", STREAM, 200),
                ("POST /v1/chat/completions", "{", 400),
                ("POST /v1/messages", UNKNOWN, 404),
                ("GET /nowhere", "", 404),
                ("PUT /v1/models", "", 405),
            ] {
                for origin in [SITE, "vscode-webview://1f2e3d"] {
                    let headers = format!(
                        "host: localhost\r\norigin: {origin}\r\nsec-fetch-site: cross-site\r\n{key}"
                    );
                    let response = gateway.raw(request(line, &headers, body)).await;
                    assert_eq!(statuses(&response), [status], "{line}: {response}");
                    let allowed = header(&response, "access-control-allow-origin");
                    assert_eq!(allowed, Some(origin), "{line}: {response}");
                    assert_eq!(header(&response, "vary"), Some("origin"), "{response}");
                    let exposed = header(&response, "access-control-expose-headers");
                    let exposed = exposed.unwrap_or_default();
                    for name in ["request-id", "target", "attempts", "changes"] {
                        let name = format!("x-majordomo-{name}");
                        assert!(exposed.contains(&name), "{name}: {response}");
                    }
                }
            }
            // Another site gains nothing, and caches distinguish the two.
            let headers = format!("host: localhost\r\norigin: https://evil.example\r\n{key}");
            let response = gateway.raw(request("GET /v1/models", &headers, "")).await;
            let expected = if key.is_empty() { 403 } else { 200 };
            assert_eq!(statuses(&response), [expected], "{response}");
            assert_eq!(header(&response, "vary"), Some("origin"), "{response}");
            assert!(
                !response.to_lowercase().contains("access-control-"),
                "{response}"
            );
            gateway.assert_invariants(()).await;
        });
    }
}

/// A browser's preflight request.
fn preflight(path: &str, host: &str, origin: &str) -> String {
    let headers = format!(
        "host: {host}\r\norigin: {origin}\r\naccess-control-request-method: POST\r\n\
         access-control-request-headers: authorization,content-type,x-stainless-lang\r\n\
         access-control-request-private-network: true\r\n"
    );
    request(&format!("OPTIONS {path}"), &headers, "")
}

#[test]
fn only_an_allowed_origin_passes_a_preflight() {
    for config in [ORIGINS.to_owned(), keyed(ORIGINS), String::new(), keyed("")] {
        case(async {
            let gateway = TestGateway::start(&config).await;
            let allows = config.starts_with(ORIGINS);
            for path in ["/v1/chat/completions", "/v1/models", "/api/chat", "/"] {
                let response = gateway.raw(preflight(path, "localhost", SITE)).await;
                if allows {
                    assert_eq!(statuses(&response), [204], "{response}");
                    for (name, value) in [
                        ("access-control-allow-origin", SITE),
                        ("access-control-allow-methods", "GET, HEAD, POST"),
                        (
                            "access-control-allow-headers",
                            "authorization,content-type,x-stainless-lang",
                        ),
                        ("access-control-allow-private-network", "true"),
                        ("access-control-max-age", "600"),
                    ] {
                        assert_eq!(header(&response, name), Some(value), "{name}: {response}");
                    }
                    let varies = header(&response, "vary").unwrap_or_default();
                    assert!(varies.starts_with("origin,"), "{response}");
                } else {
                    assert_eq!(statuses(&response), [403], "{response}");
                    assert!(
                        !response.to_lowercase().contains("access-control-"),
                        "{response}"
                    );
                }
                for origin in ["https://evil.example", "null", "http://chat.example"] {
                    let response = gateway.raw(preflight(path, "localhost", origin)).await;
                    assert_eq!(statuses(&response), [403], "{origin}: {response}");
                    assert!(response.contains("`[server] origins`"), "{response}");
                    assert!(
                        !response.to_lowercase().contains("access-control-"),
                        "{response}"
                    );
                }
            }
            gateway.assert_invariants(()).await;
        });
    }
}
