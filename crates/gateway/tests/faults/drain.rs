//! Graceful shutdown.

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
