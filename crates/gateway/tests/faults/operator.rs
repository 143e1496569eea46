//! The operator listener.

use majordomo_testkit::{Script, Upstream};

use crate::stage::{CLIENT_KEY, Client, Stage, ask, case, header, provider, statuses};

#[test]
fn a_benched_target_is_shown_with_its_reason_and_makes_the_gateway_not_ready() {
    case(async {
        let refuse = Script::new().read_request().answer(
            401,
            "application/json",
            "{\"error\":{\"message\":\"no\"}}",
        );
        let upstream = Upstream::start(vec![refuse; 4]).await;
        let config = format!("{}[aliases]\nonly = \"up/m\"\n", provider(&upstream));
        let stage = Stage::start(&config).await;
        assert_eq!(statuses(&stage.look("/readyz").await), [200]);
        let answer = stage.raw(ask("only", false)).await;
        assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
        let health = stage.look("/api/health").await;
        assert!(health.contains("\"state\":\"benched\""), "{health}");
        for field in ["why", "since_seconds", "until_seconds"] {
            assert!(health.contains(field), "{field}: {health}");
        }
        assert_eq!(statuses(&stage.look("/readyz").await), [503]);
        let head = "GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        assert_eq!(statuses(&stage.raw(head).await), [503]);
        let metrics = stage.look("/metrics").await;
        assert!(metrics.contains("majordomo_ready 0"), "{metrics}");
        assert!(metrics.contains("outcome=\"failed\""), "{metrics}");
        assert!(stage.look("/").await.contains("benched: up"));
        stage.holds(upstream).await;
    });
}

#[test]
fn served_requests_are_counted_with_their_tokens_and_times() {
    case(async {
        let stage = Stage::start("").await;
        stage.raw(ask("demo/text", true)).await;
        stage
            .look_until("/metrics", "majordomo_open_requests 0")
            .await;
        let metrics = stage.look("/metrics").await;
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
        stage.holds(()).await;
    });
}

/// Sends a request to the operator listener.
async fn tell(stage: &Stage, line: &str, headers: &str) -> String {
    let mut client = Client::connect(stage.operator).await;
    let head = format!("{line} HTTP/1.1\r\n{headers}connection: close\r\n\r\n");
    client.send(head).await;
    client.rest().await
}

#[test]
fn dns_rebinding_against_the_operator_listener_is_rejected() {
    case(async {
        let stage = Stage::start("").await;
        let port = stage.operator.port();
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
                let answer =
                    tell(&stage, &format!("GET {path}"), &format!("host: {host}\r\n")).await;
                assert_eq!(statuses(&answer), [status], "{host} {path}: {answer}");
            }
        }
        stage.holds(()).await;
    });
}

const VIEWER_KEY: &str = "CANARY-viewer-key";
const PLAIN_KEY: &str = "CANARY-plain-key";

/// A gateway whose operator listener is reachable off loopback, with a key of each
/// role, and that listener's address.
async fn open_stage() -> (Stage, std::net::SocketAddr) {
    let config = format!(
        "[server]\noperator_listen = \"0.0.0.0:0\"\n\
         [[keys]]\nname = \"root\"\nkey = \"{CLIENT_KEY}\"\nrole = \"operator\"\n\
         [[keys]]\nname = \"wall\"\nkey = \"{VIEWER_KEY}\"\nrole = \"viewer\"\n\
         [[keys]]\nname = \"laptop\"\nkey = \"{PLAIN_KEY}\"\n"
    );
    let stage = Stage::start(&config).await;
    let address = (std::net::Ipv4Addr::LOCALHOST, stage.operator.port()).into();
    (stage, address)
}

async fn ask_as(address: std::net::SocketAddr, line: &str, key: &str, more: &str) -> String {
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
        let (stage, address) = open_stage().await;
        let json = "content-type: application/json\r\n";
        // Statuses for: no key, a wrong key, a client, a viewer, an operator.
        for (line, statuses_of) in [
            ("GET /", [401, 401, 403, 200, 200]),
            ("HEAD /metrics", [401, 401, 403, 200, 200]),
            ("GET /metrics", [401, 401, 403, 200, 200]),
            ("GET /api/health", [401, 401, 403, 200, 200]),
            ("GET /api/requests", [401, 401, 403, 200, 200]),
            // A dry run without a request.
            ("POST /api/explain", [401, 401, 403, 400, 400]),
            ("POST /api/health", [401, 401, 403, 403, 405]),
            ("DELETE /metrics", [401, 401, 403, 403, 405]),
            ("GET /api/keys", [401, 401, 403, 403, 404]),
            ("GET /healthz", [200, 200, 200, 200, 200]),
            ("GET /readyz", [200, 200, 200, 200, 200]),
        ] {
            let keys = ["", "wrong", PLAIN_KEY, VIEWER_KEY, CLIENT_KEY];
            for (key, expected) in keys.into_iter().zip(statuses_of) {
                let answer = ask_as(address, line, key, json).await;
                assert_eq!(statuses(&answer), [expected], "{line} {key:?}: {answer}");
            }
        }
        let refused = ask_as(address, "GET /metrics", PLAIN_KEY, "").await;
        assert!(
            refused.contains("the key `laptop` has the role `client`"),
            "{refused}"
        );
        stage.holds(()).await;
    });
}

#[test]
fn every_role_may_call_models() {
    case(async {
        let (stage, _) = open_stage().await;
        for key in [PLAIN_KEY, VIEWER_KEY, CLIENT_KEY] {
            let sent = ask("demo/text", false).replace(CLIENT_KEY, key);
            let answer = stage.raw(sent).await;
            assert_eq!(statuses(&answer), [200], "{answer}");
        }
        stage.holds(()).await;
    });
}

#[test]
fn a_cross_site_page_cannot_use_an_operator_key() {
    case(async {
        let (stage, address) = open_stage().await;
        for from in [
            "origin: https://chat.example\r\n",
            "origin: null\r\n",
            "origin: app://x\r\n",
            "sec-fetch-site: same-site\r\n",
        ] {
            let answer = ask_as(address, "GET /metrics", CLIENT_KEY, from).await;
            assert_eq!(statuses(&answer), [403], "{from}: {answer}");
        }
        let own = "origin: https://gateway.example\r\nsec-fetch-site: same-origin\r\n";
        let answer = ask_as(address, "GET /metrics", CLIENT_KEY, own).await;
        assert_eq!(statuses(&answer), [200], "{answer}");
        stage.holds(()).await;
    });
}

#[test]
fn wrong_keys_are_throttled_across_both_listeners() {
    case(async {
        let (stage, address) = open_stage().await;
        let wrong = "GET /v1/models HTTP/1.1\r\nhost: localhost\r\nx-api-key: wrong\r\nconnection: close\r\n\r\n";
        let guessing = async {
            for round in 0.. {
                let answer = match round % 2 {
                    0 => ask_as(address, "GET /metrics", "wrong", "").await,
                    _ => stage.raw(wrong).await,
                };
                match statuses(&answer)[..] {
                    [401] => {}
                    [429] => return (round, answer),
                    _ => panic!("{answer}"),
                }
            }
            unreachable!("it goes on")
        };
        let slowed = tokio::time::timeout(crate::stage::FOREVER, guessing).await;
        let (rounds, slowed) = slowed.expect("it is slowed down");
        assert!(rounds >= 120, "{rounds}");
        assert_eq!(header(&slowed, "retry-after"), Some("1"), "{slowed}");
        let answer = ask_as(address, "GET /metrics", "wrong", "").await;
        assert_eq!(statuses(&answer), [429], "{answer}");
        // The right key is accepted from the same address.
        let answer = ask_as(address, "GET /metrics", CLIENT_KEY, "").await;
        assert_eq!(statuses(&answer), [200], "{answer}");
        stage.holds(()).await;
    });
}

#[test]
fn the_operator_listener_accepts_no_unlisted_write() {
    case(async {
        let stage = Stage::start("").await;
        let host = stage.operator;
        let before = stage.look("/api/health").await;
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
                    let answer = tell(&stage, &format!("{method} {path}"), &headers).await;
                    // A same-origin dry run in JSON is allowed: it changes nothing.
                    let refusals: &[u16] = match (method, path) {
                        ("POST", "/api/explain") => &[400, 403, 415],
                        _ if from.starts_with("origin") || from.starts_with("sec") => &[403],
                        _ => &[405],
                    };
                    let [status] = statuses(&answer)[..] else {
                        panic!("{method} {path}: {answer}");
                    };
                    assert!(refusals.contains(&status), "{method} {path}: {answer}");
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
            stage.look(path).await;
        }
        let body = |answer: &str| answer.split("\r\n\r\n").nth(1).map(str::to_owned);
        assert_eq!(body(&stage.look("/api/health").await), body(&before));
        stage.holds(()).await;
    });
}

#[test]
fn no_preflight_succeeds_on_the_operator_listener() {
    case(async {
        let stage = Stage::start("[server]\norigins = [\"https://chat.example\"]\n").await;
        let host = stage.operator;
        for origin in ["https://evil.example", "https://chat.example", "null"] {
            let headers = format!(
                "host: {host}\r\norigin: {origin}\r\naccess-control-request-method: POST\r\n\
                 access-control-request-headers: authorization\r\n"
            );
            for path in ["/", "/metrics", "/api/health", "/api/requests"] {
                for method in ["OPTIONS", "GET"] {
                    let answer = tell(&stage, &format!("{method} {path}"), &headers).await;
                    assert_eq!(statuses(&answer), [403], "{method} {path}: {answer}");
                    let lower = answer.to_lowercase();
                    assert!(!lower.contains("access-control-"), "{answer}");
                }
            }
        }
        stage.holds(()).await;
    });
}
