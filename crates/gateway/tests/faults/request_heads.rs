//! Request heads that are malformed, too long, or for another server.

use crate::test_gateway::{CLIENT_KEY, TestGateway, case, statuses};

#[test]
fn malformed_request_heads_are_rejected() {
    case(async {
        let gateway = TestGateway::start("").await;
        for head in [
            "GET /healthz HTTP/1.1\r\nhost: localhost\r\n folded\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nhost : x\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nhost: localhost\r\na: \0\r\n\r\n",
            "GET /healthz HTTP/1.1\nhost: localhost\n\n",
            "GET /healthz HTTP/1.1\r\nhost: localhost\r\na: b\rc\r\n\r\n",
            "NOT HTTP\r\n\r\n",
        ] {
            let response = gateway.raw(head).await;
            assert_eq!(statuses(&response), [400], "{head:?}: {response}");
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn oversized_request_heads_are_rejected() {
    case(async {
        let gateway = TestGateway::start("").await;
        let get = |path: &str, headers: &str| {
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n")
        };
        let many: String = (0..150).map(|n| format!("h{n}: x\r\n")).collect();
        let long = format!("a: {}\r\n", "x".repeat(20_000));
        let longer = format!("a: {}\r\n", "x".repeat(100_000));
        let path = |length: usize| format!("/{}", "x".repeat(length));
        for (head, status) in [
            (get("/healthz", &many), 431),
            (get("/healthz", &long), 431),
            (get("/healthz", &longer), 431),
            (get(&path(20_000), ""), 414),
            (get(&path(70_000), ""), 414),
            (get(&path(600_000), ""), 414),
        ] {
            let response = gateway.raw(head).await;
            assert_eq!(statuses(&response), [status], "{response}");
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_request_must_have_exactly_one_host() {
    case(async {
        let gateway = TestGateway::start("").await;
        for head in [
            "GET /healthz HTTP/1.1\r\n",
            "GET /healthz HTTP/1.1\r\nhost: a\r\nhost: a\r\n",
            "GET http://b/healthz HTTP/1.1\r\nhost: a\r\n",
        ] {
            let response = gateway
                .raw(format!("{head}connection: close\r\n\r\n"))
                .await;
            assert_eq!(statuses(&response), [400], "{head:?}: {response}");
        }
        let same = "GET http://a/healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        assert_eq!(statuses(&gateway.raw(same).await), [200]);
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn only_exact_paths_match_and_none_reaches_the_operator_api() {
    case(async {
        let gateway = TestGateway::start("").await;
        for path in [
            "//v1/models",
            "/v1//models",
            "/V1/models",
            "/v1/models/../../metrics",
            "/%2e%2e/metrics",
            "/metrics",
            "/api/health",
            "/api/explain",
        ] {
            let head =
                format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
            let response = gateway.raw(head).await;
            assert_eq!(statuses(&response), [404], "{path}: {response}");
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn connect_trace_and_upgrade_are_not_honoured() {
    case(async {
        let gateway = TestGateway::start("").await;
        let marker = format!("x-marker: {CLIENT_KEY}\r\n");
        for line in [
            "CONNECT example.com:443",
            "TRACE /healthz",
            "DELETE /v1/models",
        ] {
            let host = if line.starts_with("CONNECT") {
                "example.com:443"
            } else {
                "localhost"
            };
            let head =
                format!("{line} HTTP/1.1\r\nhost: {host}\r\n{marker}connection: close\r\n\r\n");
            let response = gateway.raw(head).await;
            assert_eq!(statuses(&response), [405], "{line}: {response}");
            assert!(!response.contains(CLIENT_KEY), "{response}");
        }
        let upgrade = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n";
        assert_eq!(statuses(&gateway.raw(upgrade).await), [200]);
        let with_body = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello";
        assert_eq!(statuses(&gateway.raw(with_body).await), [200]);
        gateway.assert_invariants(()).await;
    });
}
