//! More than the gateway has room for.

use std::time::Duration;

use majordomo_gateway::Limits;

use crate::stage::{Stage, ask, case, header, post, provider, standing_still, statuses};

fn impatient() -> Limits {
    let mut limits = Limits::default();
    limits.queue_wait = Duration::from_millis(50);
    limits
}

#[test]
fn a_request_beyond_the_limit_is_told_to_come_back_and_may() {
    case(async {
        let upstream = standing_still(1).await;
        let config = format!("[server]\nmax_requests = 1\n{}", provider(&upstream));
        let stage = Stage::with(&config, impatient()).await;
        let mut first = stage.connect().await;
        first.send(ask("up/m", true)).await;
        first.until("word").await;
        let second = stage
            .raw(post("/v1/messages", "connection: close\r\n", "{}"))
            .await;
        assert_eq!(statuses(&second), [503], "{second}");
        assert_eq!(header(&second, "retry-after"), Some("1"), "{second}");
        assert!(second.contains(r#""type":"error""#), "{second}");
        // Who only looks is not kept out.
        let alive = "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        assert_eq!(statuses(&stage.raw(alive).await), [200]);
        drop(first);
        stage
            .look_until("/metrics", "majordomo_open_requests 0")
            .await;
        stage.holds(upstream).await;
    });
}

#[test]
fn bytes_that_are_announced_are_counted_before_they_come() {
    case(async {
        let config = "[server]\nmax_body = \"1MiB\"\nmax_bytes_in_flight = \"1MiB\"\n";
        let stage = Stage::with(config, impatient()).await;
        let mut first = stage.connect().await;
        let head = "POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 1048576\r\n\r\n";
        first.send(head).await;
        stage
            .look_until("/metrics", "majordomo_open_requests 1")
            .await;
        let second = stage.raw(ask("demo/text", false)).await;
        assert_eq!(statuses(&second), [503], "{second}");
        drop(first);
        stage
            .look_until("/metrics", "majordomo_open_requests 0")
            .await;
        stage.holds(()).await;
    });
}
