//! Requests beyond the gateway's concurrency and byte budgets.

use std::time::Duration;

use majordomo_gateway::Limits;
use majordomo_testkit::{Script, Upstream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::test_gateway::{
    CLIENT_KEY, Client, TEST_TIMEOUT, TestGateway, case, chat_request, header, post, provider,
    standing_still, statuses,
};

const CROWD_KEY: &str = "CANARY-key-of-a-crowd";
const WHOLE: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"word"},"finish_reason":"stop"}]}"#;

fn impatient() -> Limits {
    let mut limits = Limits::default();
    limits.queue_wait = Duration::from_millis(50);
    limits
}

#[test]
fn a_request_beyond_the_limit_gets_a_503_and_succeeds_later() {
    case(async {
        let upstream = standing_still(1).await;
        let config = format!("[server]\nmax_requests = 1\n{}", provider(&upstream));
        let gateway = TestGateway::with(&config, impatient()).await;
        let mut first = gateway.connect().await;
        first.send(chat_request("up/m", true)).await;
        first.until("word").await;
        let second = gateway
            .raw(post("/v1/messages", "connection: close\r\n", "{}"))
            .await;
        assert_eq!(statuses(&second), [503], "{second}");
        assert_eq!(header(&second, "retry-after"), Some("1"), "{second}");
        assert!(second.contains(r#""type":"error""#), "{second}");
        // Health checks need no permit.
        let alive = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        assert_eq!(statuses(&gateway.raw(alive).await), [200]);
        drop(first);
        gateway
            .poll_operator_until("/metrics", "majordomo_open_requests 0")
            .await;
        gateway.assert_invariants(upstream).await;
    });
}

fn announcing(bytes: u64) -> String {
    format!("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: {bytes}\r\n\r\n{{")
}

#[test]
fn uploads_that_declare_the_whole_budget_but_send_little_block_no_one() {
    case(async {
        let config = "[server]\nmax_body = \"1MiB\"\nmax_bytes_in_flight = \"4MiB\"\n";
        let gateway = TestGateway::with(config, impatient()).await;
        let mut uploads = Vec::new();
        for _ in 0..16 {
            let mut client = gateway.connect().await;
            client.send(announcing(1 << 20)).await;
            uploads.push(client);
        }
        gateway
            .poll_operator_until("/metrics", "majordomo_open_requests 16")
            .await;
        let other = gateway.raw(chat_request("demo/text", false)).await;
        assert_eq!(statuses(&other), [200], "{other}");
        drop(uploads);
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_slow_upload_holds_no_permit() {
    case(async {
        let gateway = TestGateway::with("[server]\nmax_requests = 1\n", impatient()).await;
        let mut upload = gateway.connect().await;
        upload.send(announcing(1 << 20)).await;
        gateway
            .poll_operator_until("/metrics", "majordomo_open_requests 1")
            .await;
        let other = gateway.raw(chat_request("demo/text", false)).await;
        assert_eq!(statuses(&other), [200], "{other}");
        gateway.assert_invariants(upload).await;
    });
}

#[test]
fn received_bytes_count_against_the_budget() {
    case(async {
        let config = "[server]\nmax_body = \"1MiB\"\nmax_bytes_in_flight = \"1MiB\"\n";
        let gateway = TestGateway::with(config, impatient()).await;
        let mut first = gateway.connect().await;
        first.send(announcing(1 << 20)).await;
        first.send(vec![b' '; 700 << 10]).await;
        let large = format!("{{{}", " ".repeat(700 << 10));
        let large = post("/v1/messages", "connection: close\r\n", &large);
        let refused = async {
            loop {
                let response = gateway.raw(&large).await;
                // Until all of the first has arrived, the second may fit.
                match *statuses(&response) {
                    [503] => return response,
                    [400] => tokio::time::sleep(Duration::from_millis(2)).await,
                    _ => panic!("{response}"),
                }
            }
        };
        let refused = timeout(TEST_TIMEOUT, refused).await.expect("it is counted");
        assert_eq!(header(&refused, "retry-after"), Some("1"), "{refused}");
        // A small one still fits.
        let small = gateway.raw(chat_request("demo/text", false)).await;
        assert_eq!(statuses(&small), [200], "{small}");
        gateway.assert_invariants(first).await;
    });
}

#[test]
fn a_body_at_the_minimum_rate_still_hits_the_total_timeout() {
    case(async {
        let config = "[server]\nbody_timeout = \"200ms\"\n";
        let gateway = TestGateway::with(config, impatient()).await;
        let mut client = gateway.connect().await;
        client.send(announcing(1 << 20)).await;
        let sending = async {
            loop {
                client.send(vec![b' '; 64]).await;
                tokio::time::sleep(Duration::from_millis(10)).await;
                let mut response = vec![0; 4096];
                if let Ok(length @ 1..) = client.stream.try_read(&mut response) {
                    response.truncate(length);
                    return String::from_utf8(response).expect("it is text");
                }
            }
        };
        let response = timeout(TEST_TIMEOUT, sending)
            .await
            .expect("it is given up");
        assert_eq!(statuses(&response), [408], "{response}");
        assert!(response.contains("body_timeout"), "{response}");
        gateway.assert_invariants(client).await;
    });
}

fn request_as(key: &str) -> String {
    let body = r#"{"model":"up/m","messages":[{"role":"user","content":"hi"}]}"#;
    let headers = format!("connection: close\r\nauthorization: Bearer {key}\r\n");
    post("/v1/chat/completions", &headers, body)
}

/// Two permits; eight clients of one key send the next request as soon as one ends.
#[test]
fn a_crowd_of_one_key_neither_blocks_nor_delays_another_key() {
    case(async {
        let script = Script::new()
            .read_request()
            .wait(Duration::from_millis(20))
            .respond(200, "application/json", WHOLE)
            .times(1000);
        let upstream = Upstream::start(vec![script; 50]).await;
        let config = format!(
            "[server]\nmax_requests = 2\n{}[[keys]]\nname = \"crowd\"\nkey = \"{CROWD_KEY}\"\n\
             [[keys]]\nname = \"single\"\nkey = \"{CLIENT_KEY}\"\n",
            provider(&upstream)
        );
        let gateway = TestGateway::with(&config, Limits::default()).await;
        let address = gateway.address;
        let mut crowd = JoinSet::new();
        for _ in 0..8 {
            crowd.spawn(async move {
                loop {
                    let mut client = Client::connect(address).await;
                    client.send(request_as(CROWD_KEY)).await;
                    client.rest().await;
                }
            });
        }
        gateway
            .poll_operator_until("/metrics", "status=\"503\"")
            .await;
        for _ in 0..10 {
            let began = tokio::time::Instant::now();
            let single = gateway.raw(request_as(CLIENT_KEY)).await;
            assert_eq!(statuses(&single), [200], "{single}");
            assert!(began.elapsed() < Duration::from_secs(2));
        }
        crowd.shutdown().await;
        gateway.assert_invariants(upstream).await;
    });
}

#[test]
fn a_buffered_response_counts_against_its_requests_budget() {
    case(async {
        let large = WHOLE.replace("word", &"word ".repeat(300_000));
        let script = Script::new()
            .read_request()
            .respond(200, "application/json", large)
            .times(10);
        for (budget, status) in [("1MiB", 503), ("8MiB", 200)] {
            let upstream = Upstream::start(vec![script.clone(); 4]).await;
            let config = format!(
                "[server]\nmax_body = \"1MiB\"\nmax_bytes_in_flight = \"{budget}\"\n{}",
                provider(&upstream)
            );
            let gateway = TestGateway::with(&config, impatient()).await;
            // Twice: the budget of the first response is released.
            for _ in 0..2 {
                let response = gateway.raw(chat_request("up/m", false)).await;
                assert_eq!(statuses(&response), [status], "{budget}");
            }
            gateway.assert_invariants(upstream).await;
        }
    });
}
