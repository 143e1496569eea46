//! What the operator sees.

use majordomo_testkit::{Script, Upstream};

use crate::stage::{CLIENT_KEY, Client, Stage, ask, case, provider, statuses};

#[test]
fn a_benched_target_is_shown_with_its_reason_and_makes_the_gateway_unready() {
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
        let head = "GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
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

/// Sends the operator's listener a request with these lines.
async fn tell(stage: &Stage, line: &str, headers: &str) -> String {
    let mut client = Client::connect(stage.operator).await;
    let head = format!("{line} HTTP/1.1\r\n{headers}connection: close\r\n\r\n");
    client.send(head).await;
    client.rest().await
}

#[test]
fn s10_a_site_that_leads_its_name_here_sees_nothing() {
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

#[test]
fn an_address_that_others_can_reach_asks_for_a_key() {
    case(async {
        let config = format!(
            "[server]\noperator_listen = \"0.0.0.0:0\"\n[[keys]]\nname = \"a\"\nkey = \"{CLIENT_KEY}\"\n"
        );
        let stage = Stage::start(&config).await;
        let address = (std::net::Ipv4Addr::LOCALHOST, stage.operator.port()).into();
        let ask = async |path: &str, key: &str| {
            let mut client = Client::connect(address).await;
            let head = format!(
                "GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\nconnection: close\r\n\r\n"
            );
            client.send(head).await;
            statuses(&client.rest().await)
        };
        assert_eq!(ask("/metrics", "wrong").await, [401]);
        assert_eq!(ask("/metrics", CLIENT_KEY).await, [200]);
        assert_eq!(ask("/healthz", "wrong").await, [200]);
        stage.holds(()).await;
    });
}

#[test]
fn s50_nothing_can_be_changed_over_the_operators_listener() {
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
                    // A dry run may be asked for, in JSON and from here: it changes nothing.
                    let refusals: &[u16] = match (method, path) {
                        ("POST", "/api/explain") => &[400, 403, 415],
                        _ => &[405],
                    };
                    let [status] = statuses(&answer)[..] else {
                        panic!("{method} {path}: {answer}");
                    };
                    assert!(refusals.contains(&status), "{method} {path}: {answer}");
                }
            }
        }
        // S-51: nor by looking.
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
fn s52_no_page_of_another_site_is_let_in_by_a_preflight() {
    case(async {
        let stage = Stage::start("").await;
        let from = "origin: http://evil.example\r\naccess-control-request-method: POST\r\n\
                    access-control-request-headers: authorization\r\n";
        let mut answers = Vec::new();
        for path in ["/v1/chat/completions", "/v1/models", "/", "/api/chat"] {
            let head =
                format!("OPTIONS {path} HTTP/1.1\r\nhost: x\r\n{from}connection: close\r\n\r\n");
            answers.push(stage.raw(head).await);
        }
        let host = stage.operator;
        for path in ["/", "/metrics", "/api/health", "/api/requests"] {
            let headers = format!("host: {host}\r\n{from}");
            answers.push(tell(&stage, &format!("OPTIONS {path}"), &headers).await);
        }
        for answer in answers {
            let refused = statuses(&answer);
            assert!(refused == [405] || refused == [404], "{answer}");
            let lower = answer.to_lowercase();
            assert!(!lower.contains("access-control-allow"), "{answer}");
        }
        stage.holds(()).await;
    });
}
