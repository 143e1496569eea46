//! The operator listener.

use majordomo_testkit::{Script, Upstream};

use crate::test_gateway::{
    CLIENT_KEY, Client, TestGateway, case, chat_request, header, provider, statuses,
};

#[test]
fn a_benched_target_is_shown_with_its_reason_and_makes_the_gateway_not_ready() {
    case(async {
        let refuse = Script::new().read_request().respond(
            401,
            "application/json",
            "{\"error\":{\"message\":\"no\"}}",
        );
        let upstream = Upstream::start(vec![refuse; 4]).await;
        let config = format!("{}[aliases]\nonly = \"up/m\"\n", provider(&upstream));
        let gateway = TestGateway::start(&config).await;
        assert_eq!(statuses(&gateway.get_operator("/readyz").await), [200]);
        let response = gateway.raw(chat_request("only", false)).await;
        assert!(!response.starts_with("HTTP/1.1 200"), "{response}");
        let health = gateway.get_operator("/api/health").await;
        assert!(health.contains("\"state\":\"benched\""), "{health}");
        for field in ["why", "since_seconds", "until_seconds"] {
            assert!(health.contains(field), "{field}: {health}");
        }
        assert_eq!(statuses(&gateway.get_operator("/readyz").await), [503]);
        let head = "GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        assert_eq!(statuses(&gateway.raw(head).await), [503]);
        let metrics = gateway.get_operator("/metrics").await;
        assert!(metrics.contains("majordomo_ready 0"), "{metrics}");
        assert!(metrics.contains("outcome=\"failed\""), "{metrics}");
        assert!(gateway.get_operator("/").await.contains("benched: up"));
        gateway.assert_invariants(upstream).await;
    });
}

#[test]
fn served_requests_are_counted_with_their_tokens_and_times() {
    case(async {
        let gateway = TestGateway::start("").await;
        gateway.raw(chat_request("demo/text", true)).await;
        gateway
            .poll_operator_until("/metrics", "majordomo_open_requests 0")
            .await;
        let metrics = gateway.get_operator("/metrics").await;
        // One request was served before the case.
        for line in [
            "majordomo_requests_total{dialect=\"openai-chat\",outcome=\"complete\",status=\"200\"} 2",
            "majordomo_attempts_total{target=\"demo/text\",outcome=\"served\"} 2",
            "majordomo_request_seconds_count 2",
            "majordomo_first_token_seconds_count 1",
            "majordomo_open_streams 0",
        ] {
            assert!(metrics.lines().any(|l| l == line), "{line}: {metrics}");
        }
        let output = "majordomo_tokens_total{target=\"demo/text\",kind=\"output\"}";
        assert!(metrics.contains(output), "{metrics}");
        gateway.assert_invariants(()).await;
    });
}

/// Sends a request to the operator listener.
async fn tell(gateway: &TestGateway, line: &str, headers: &str) -> String {
    let mut client = Client::connect(gateway.operator).await;
    let head = format!("{line} HTTP/1.1\r\n{headers}connection: close\r\n\r\n");
    client.send(head).await;
    client.rest().await
}

#[test]
fn dns_rebinding_against_the_operator_listener_is_rejected() {
    case(async {
        let gateway = TestGateway::start("").await;
        let port = gateway.operator.port();
        for path in ["/", "/metrics", "/api/health", "/api/requests"] {
            for (host, status) in [
                ("evil.example".to_owned(), 403),
                (format!("evil.example:{port}"), 403),
                ("127.0.0.1.nip.io".to_owned(), 403),
                ("localhost.".to_owned(), 403),
                ("localhost.evil.example".to_owned(), 403),
                ("127.0.0.1@evil.example".to_owned(), 403),
                (format!("127.0.0.1:{port}"), 200),
                (format!("[::1]:{port}"), 200),
                ("localhost".to_owned(), 200),
            ] {
                let response = tell(
                    &gateway,
                    &format!("GET {path}"),
                    &format!("host: {host}\r\n"),
                )
                .await;
                assert_eq!(statuses(&response), [status], "{host} {path}: {response}");
            }
        }
        gateway.assert_invariants(()).await;
    });
}

const VIEWER_KEY: &str = "CANARY-viewer-key";
const PLAIN_KEY: &str = "CANARY-plain-key";

/// A gateway whose operator listener is reachable off loopback, with a key of each
/// role, and that listener's address.
async fn exposed_gateway() -> (TestGateway, std::net::SocketAddr) {
    let config = format!(
        "[server]\noperator_listen = \"0.0.0.0:0\"\n\
         [[keys]]\nname = \"root\"\nkey = \"{CLIENT_KEY}\"\nrole = \"operator\"\n\
         [[keys]]\nname = \"wall\"\nkey = \"{VIEWER_KEY}\"\nrole = \"viewer\"\n\
         [[keys]]\nname = \"laptop\"\nkey = \"{PLAIN_KEY}\"\n"
    );
    let gateway = TestGateway::start(&config).await;
    let address = (std::net::Ipv4Addr::LOCALHOST, gateway.operator.port()).into();
    (gateway, address)
}

async fn request_as(address: std::net::SocketAddr, line: &str, key: &str, more: &str) -> String {
    let mut client = Client::connect(address).await;
    let key = match key {
        "" => String::new(),
        key => format!("authorization: Bearer {key}\r\n"),
    };
    let head = format!(
        "{line} HTTP/1.1\r\nhost: gateway.example\r\n{key}{more}content-length: 0\r\nconnection: close\r\n\r\n"
    );
    client.send(head).await;
    client.rest().await
}

#[test]
fn off_loopback_a_viewer_reads_and_only_an_operator_writes() {
    case(async {
        let (gateway, address) = exposed_gateway().await;
        let json = "content-type: application/json\r\n";
        // Statuses for: no key, a wrong key, a client, a viewer, an operator.
        for (line, statuses_of) in [
            ("GET /", [401, 401, 403, 200, 200]),
            ("HEAD /metrics", [401, 401, 403, 403, 200]),
            ("GET /metrics", [401, 401, 403, 403, 200]),
            ("GET /api/health", [401, 401, 403, 403, 200]),
            ("GET /api/requests", [401, 401, 403, 200, 200]),
            // A dry run without a request.
            ("POST /api/explain", [401, 401, 403, 403, 400]),
            ("POST /api/health", [401, 401, 403, 403, 405]),
            ("DELETE /metrics", [401, 401, 403, 403, 405]),
            ("GET /api/keys", [401, 401, 403, 403, 404]),
            ("GET /healthz", [200, 200, 200, 200, 200]),
            ("GET /readyz", [200, 200, 200, 200, 200]),
        ] {
            let keys = ["", "wrong", PLAIN_KEY, VIEWER_KEY, CLIENT_KEY];
            for (key, expected) in keys.into_iter().zip(statuses_of) {
                let response = request_as(address, line, key, json).await;
                assert_eq!(
                    statuses(&response),
                    [expected],
                    "{line} {key:?}: {response}"
                );
            }
        }
        let refused = request_as(address, "GET /metrics", PLAIN_KEY, "").await;
        assert!(
            refused.contains("the key `laptop` has the role `client`"),
            "{refused}"
        );
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn every_role_may_call_models() {
    case(async {
        let (gateway, _) = exposed_gateway().await;
        for key in [PLAIN_KEY, VIEWER_KEY, CLIENT_KEY] {
            let sent = chat_request("demo/text", false).replace(CLIENT_KEY, key);
            let response = gateway.raw(sent).await;
            assert_eq!(statuses(&response), [200], "{response}");
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_cross_site_page_cannot_use_an_operator_key() {
    case(async {
        let (gateway, address) = exposed_gateway().await;
        for from in [
            "origin: https://chat.example\r\n",
            "origin: null\r\n",
            "origin: app://x\r\n",
            "sec-fetch-site: same-site\r\n",
        ] {
            let response = request_as(address, "GET /metrics", CLIENT_KEY, from).await;
            assert_eq!(statuses(&response), [403], "{from}: {response}");
        }
        let own = "origin: https://gateway.example\r\nsec-fetch-site: same-origin\r\n";
        let response = request_as(address, "GET /metrics", CLIENT_KEY, own).await;
        assert_eq!(statuses(&response), [200], "{response}");
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn wrong_keys_are_throttled_across_both_listeners() {
    case(async {
        let (gateway, address) = exposed_gateway().await;
        let wrong = "GET /v1/models HTTP/1.1\r\nhost: localhost\r\nx-api-key: wrong\r\nconnection: close\r\n\r\n";
        let guessing = async {
            for round in 0.. {
                let response = match round % 2 {
                    0 => request_as(address, "GET /metrics", "wrong", "").await,
                    _ => gateway.raw(wrong).await,
                };
                match statuses(&response)[..] {
                    [401] => {}
                    [429] => return (round, response),
                    _ => panic!("{response}"),
                }
            }
            unreachable!("it goes on")
        };
        let slowed = tokio::time::timeout(crate::test_gateway::TEST_TIMEOUT, guessing).await;
        let (rounds, slowed) = slowed.expect("it is slowed down");
        assert!(rounds >= 120, "{rounds}");
        assert_eq!(header(&slowed, "retry-after"), Some("1"), "{slowed}");
        let response = request_as(address, "GET /metrics", "wrong", "").await;
        assert_eq!(statuses(&response), [429], "{response}");
        // The right key is accepted from the same address.
        let response = request_as(address, "GET /metrics", CLIENT_KEY, "").await;
        assert_eq!(statuses(&response), [200], "{response}");
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn the_operator_listener_accepts_no_unlisted_write() {
    case(async {
        let gateway = TestGateway::start("").await;
        let host = gateway.operator;
        let before = gateway.get_operator("/api/health").await;
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            for path in [
                "/",
                "/api/health",
                "/api/explain",
                "/metrics",
                "/api/reload",
            ] {
                for from in [
                    "",
                    "origin: http://evil.example\r\n",
                    "sec-fetch-site: cross-site\r\n",
                    "content-type: text/plain\r\n",
                    "content-type: application/json\r\n",
                ] {
                    let headers = format!("host: {host}\r\n{from}content-length: 0\r\n");
                    let response = tell(&gateway, &format!("{method} {path}"), &headers).await;
                    // A same-origin dry run in JSON is allowed: it changes nothing.
                    let refusals: &[u16] = match (method, path) {
                        ("POST", "/api/explain") => &[400, 403, 415],
                        _ if from.starts_with("origin") || from.starts_with("sec") => &[403],
                        // Not a page of the operator's.
                        (_, "/api/reload") => &[404],
                        _ => &[405],
                    };
                    let [status] = statuses(&response)[..] else {
                        panic!("{method} {path}: {response}");
                    };
                    assert!(refusals.contains(&status), "{method} {path}: {response}");
                }
            }
        }
        // Reading changes nothing either.
        for path in [
            "/",
            "/metrics",
            "/api/health",
            "/api/explain",
            "/healthz",
            "/readyz",
        ] {
            gateway.get_operator(path).await;
        }
        let body = |response: &str| response.split("\r\n\r\n").nth(1).map(str::to_owned);
        assert_eq!(
            body(&gateway.get_operator("/api/health").await),
            body(&before)
        );
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn no_preflight_succeeds_on_the_operator_listener() {
    case(async {
        let gateway = TestGateway::start("[server]\norigins = [\"https://chat.example\"]\n").await;
        let host = gateway.operator;
        for origin in ["https://evil.example", "https://chat.example", "null"] {
            let headers = format!(
                "host: {host}\r\norigin: {origin}\r\naccess-control-request-method: POST\r\n\
                 access-control-request-headers: authorization\r\n"
            );
            for path in ["/", "/metrics", "/api/health", "/api/requests"] {
                for method in ["OPTIONS", "GET"] {
                    let response = tell(&gateway, &format!("{method} {path}"), &headers).await;
                    assert_eq!(statuses(&response), [403], "{method} {path}: {response}");
                    let lower = response.to_lowercase();
                    assert!(!lower.contains("access-control-"), "{response}");
                }
            }
        }
        gateway.assert_invariants(()).await;
    });
}
