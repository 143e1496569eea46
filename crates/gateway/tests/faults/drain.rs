//! Graceful shutdown.

use majordomo_gateway::Limits;
use majordomo_testkit::{Script, Upstream};
use tokio::net::TcpStream;

use crate::test_gateway::{
    EVENT, TEST_TIMEOUT, TestGateway, case, chat_request, header, lines_of, provider,
    standing_still,
};

fn config(drain: &str, upstream: &Upstream) -> String {
    format!("[server]\ndrain = \"{drain}\"\n{}", provider(upstream))
}

#[test]
fn open_streams_complete_during_shutdown() {
    case(async {
        let finish = EVENT.replace("\"finish_reason\":null", "\"finish_reason\":\"stop\"");
        let script = Script::new()
            .read_request()
            .stream_head()
            .chunk(EVENT)
            .wait(std::time::Duration::from_millis(300))
            .chunk(finish)
            .chunk("data: [DONE]\n\n")
            .last_chunk();
        let upstream = Upstream::start([script]).await;
        let mut gateway = TestGateway::start(&config("30s", &upstream)).await;
        let mut client = gateway.connect().await;
        client.send(chat_request("up/m", true)).await;
        client.until("word").await;
        gateway.stop();
        let rest = client.rest().await;
        assert!(rest.contains("[DONE]"), "{rest}");
        gateway.stopped().await;
        assert!(TcpStream::connect(gateway.address).await.is_err());
        gateway.assert_invariants((upstream, client)).await;
    });
}

#[test]
fn a_stream_cut_by_shutdown_ends_with_an_error_event() {
    case(async {
        let upstream = standing_still(1).await;
        let mut gateway = TestGateway::start(&config("100ms", &upstream)).await;
        let mut client = gateway.connect().await;
        client.send(chat_request("up/m", true)).await;
        let head = client.until("word").await;
        gateway.stop();
        let rest = client.rest().await;
        assert!(rest.contains("server_shutdown"), "{rest}");
        assert!(!rest.contains("[DONE]"), "{rest}");
        gateway.stopped().await;
        upstream.closed(0, TEST_TIMEOUT).await;
        let id = header(&head, "x-majordomo-request-id").expect("it has an id");
        let lines = lines_of(id);
        assert_eq!(lines.len(), 1, "{lines:#?}");
        assert!(lines[0].contains("interrupted"), "{lines:?}");
        gateway.assert_invariants((upstream, client)).await;
    });
}

#[test]
fn a_request_pending_at_shutdown_gets_a_503() {
    case(async {
        let upstream = Upstream::start([Script::new().read_request().stall()]).await;
        let mut gateway = TestGateway::start(&config("100ms", &upstream)).await;
        let mut client = gateway.connect().await;
        client.send(chat_request("up/m", false)).await;
        upstream.wait_for_requests(1, TEST_TIMEOUT).await;
        gateway.stop();
        let response = client.rest().await;
        assert!(response.starts_with("HTTP/1.1 503"), "{response}");
        assert!(response.contains("server_shutdown"), "{response}");
        gateway.stopped().await;
        gateway.assert_invariants((upstream, client)).await;
    });
}

#[test]
fn a_draining_gateway_is_not_ready() {
    case(async {
        let upstream = standing_still(1).await;
        let mut gateway = TestGateway::start(&config("30s", &upstream)).await;
        let mut client = gateway.connect().await;
        client.send(chat_request("up/m", true)).await;
        client.until("word").await;
        assert!(
            gateway
                .get_operator("/readyz")
                .await
                .starts_with("HTTP/1.1 200")
        );
        gateway.stop();
        gateway.poll_operator_until("/readyz", "HTTP/1.1 503").await;
        assert!(
            gateway
                .get_operator("/api/health")
                .await
                .contains("\"draining\":true")
        );
        drop(client);
        gateway.stopped().await;
        gateway.assert_invariants(upstream).await;
    });
}

/// A request on a connection that is kept.
const HEALTH: &str = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// Stops the gateway and waits until it does not listen any more.
async fn stop_listening(gateway: &mut TestGateway) {
    gateway.stop();
    let closing = async { while TcpStream::connect(gateway.address).await.is_ok() {} };
    let closed = tokio::time::timeout(TEST_TIMEOUT, closing).await;
    closed.expect("the listener closes");
}

/// Connections wait for their next request for longer than a test needs.
fn patient() -> Limits {
    let mut limits = Limits::default();
    limits.unused = std::time::Duration::from_secs(10);
    limits
}

#[test]
fn connections_in_the_backlog_are_served_although_the_listener_closes() {
    case(async {
        let script = Script::new()
            .read_request()
            .stream_head()
            .chunk(EVENT)
            .wait(std::time::Duration::from_millis(300))
            .chunk("data: [DONE]\n\n")
            .last_chunk();
        let upstream = Upstream::start([script]).await;
        let mut limits = Limits::default();
        // The first connection takes the only slot: the others cannot be accepted.
        limits.connections = 1;
        let mut gateway = TestGateway::with(&config("30s", &upstream), limits).await;
        let mut first = gateway.connect().await;
        first.send(chat_request("up/m", true)).await;
        first.until("word").await;
        let mut queued = Vec::new();
        for _ in 0..8 {
            let mut client = gateway.connect().await;
            client.send(chat_request("demo/text", false)).await;
            queued.push(client);
        }
        gateway.stop();
        assert!(first.rest().await.contains("[DONE]"));
        for mut client in queued {
            let response = client.rest().await;
            assert!(response.starts_with("HTTP/1.1 200"), "{response:?}");
        }
        gateway.stopped().await;
        gateway.assert_invariants((upstream, first)).await;
    });
}

#[test]
fn an_accepted_connection_is_not_closed_before_its_first_request_is_read() {
    case(async {
        let mut gateway = TestGateway::with("", patient()).await;
        let mut clients = Vec::new();
        for _ in 0..8 {
            clients.push(gateway.connect().await);
        }
        // Connections are accepted in order: those before this one have been accepted.
        gateway.assert_alive().await;
        stop_listening(&mut gateway).await;
        for mut client in clients {
            client.send(HEALTH).await;
            let response = client.rest().await;
            assert!(response.starts_with("HTTP/1.1 200"), "{response:?}");
            assert_eq!(header(&response, "connection"), Some("close"));
        }
        gateway.stopped().await;
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_kept_connection_is_closed_by_the_response_to_its_next_request() {
    case(async {
        let mut gateway = TestGateway::with("", patient()).await;
        let mut client = gateway.connect().await;
        client.send(HEALTH).await;
        let first = client.until("ok\n").await;
        assert_eq!(header(&first, "connection"), None);
        stop_listening(&mut gateway).await;
        client.send(HEALTH).await;
        let response = client.rest().await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response:?}");
        assert_eq!(header(&response, "connection"), Some("close"));
        drop(client);
        gateway.stopped().await;
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_kept_connection_without_a_request_does_not_delay_the_end() {
    case(async {
        let mut gateway = TestGateway::start("").await;
        let mut client = gateway.connect().await;
        client.send(HEALTH).await;
        client.until("ok\n").await;
        gateway.stop();
        let began = tokio::time::Instant::now();
        assert_eq!(client.rest().await, "");
        gateway.stopped().await;
        // `drain` is 30 seconds.
        assert!(began.elapsed() < TEST_TIMEOUT / 2);
        gateway.assert_invariants(client).await;
    });
}

#[test]
fn during_the_grace_a_gateway_is_not_ready_and_accepts() {
    case(async {
        let mut gateway = TestGateway::start("[server]\ngrace = \"2s\"\n").await;
        let mut kept = gateway.connect().await;
        kept.send(HEALTH).await;
        kept.until("ok\n").await;
        gateway.stop();
        gateway.poll_operator_until("/readyz", "HTTP/1.1 503").await;
        let ready = HEALTH.replace("/healthz", "/readyz");
        let mut new = gateway.connect().await;
        new.send(&ready).await;
        let response = new.rest().await;
        assert!(response.starts_with("HTTP/1.1 503"), "{response:?}");
        kept.send(HEALTH).await;
        let response = kept.rest().await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response:?}");
        assert_eq!(header(&response, "connection"), Some("close"));
        gateway.stopped().await;
        gateway.assert_invariants((kept, new)).await;
    });
}

#[test]
fn no_connection_is_lost_while_the_listener_closes() {
    use std::io::{Read, Write};

    /// The response, if a connection was established.
    fn ask(address: std::net::SocketAddr) -> Option<String> {
        let mut stream = std::net::TcpStream::connect(address).ok()?;
        let mut response = String::new();
        let request = HEALTH.replace("host:", "connection: close\r\nhost:");
        let _ = stream.write_all(request.as_bytes());
        let _ = stream.read_to_string(&mut response);
        Some(response)
    }

    case(async {
        let mut gateway = TestGateway::start("").await;
        let address = gateway.address;
        let clients = std::array::from_fn::<_, 4, _>(|_| {
            std::thread::spawn(move || {
                let mut asked = 0;
                while let Some(response) = ask(address) {
                    asked += 1;
                    assert!(response.starts_with("HTTP/1.1 200"), "{response:?}");
                }
                asked
            })
        });
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        gateway.stop();
        gateway.stopped().await;
        for client in clients {
            let asked = client.join().expect("every connection is served");
            assert!(asked > 0);
        }
        gateway.assert_invariants(()).await;
    });
}
