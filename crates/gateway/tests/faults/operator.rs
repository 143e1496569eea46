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

#[test]
fn a_site_that_leads_its_name_here_sees_nothing() {
    case(async {
        let stage = Stage::start("").await;
        for path in ["/", "/metrics", "/api/health"] {
            let mut client = Client::connect(stage.operator).await;
            let head =
                format!("GET {path} HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n");
            client.send(head).await;
            assert_eq!(statuses(&client.rest().await), [403]);
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
