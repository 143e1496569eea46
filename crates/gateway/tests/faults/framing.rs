//! Body framing: wrong, ambiguous and excessive lengths (RFC 9112, section 6).

use majordomo_testkit::{Script, Upstream};
use tokio::io::AsyncWriteExt;

use crate::test_gateway::{
    CLIENT_KEY, TestGateway, case, chat_request, header, post, provider, statuses,
};

const SMALL: &str = "[server]\nmax_body = \"1KiB\"\n";

#[test]
fn an_oversized_body_is_rejected_as_soon_as_its_size_is_known() {
    case(async {
        let gateway = TestGateway::start(SMALL).await;
        // No body is sent: the declared length is enough.
        let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n";
        let declared = gateway
            .raw(format!("{head}content-length: 1025\r\n\r\n"))
            .await;
        assert_eq!(statuses(&declared), [413], "{declared}");
        let chunk = format!("401\r\n{}\r\n", "a".repeat(1025));
        let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n{chunk}");
        let chunked = gateway.raw(chunked).await;
        assert_eq!(statuses(&chunked), [413], "{chunked}");
        let body = "a".repeat(1024);
        let exact = gateway
            .raw(post("/v1/messages", "connection: close\r\n", &body))
            .await;
        assert_eq!(statuses(&exact), [400], "{exact}");
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_compressed_body_is_rejected() {
    case(async {
        let gateway = TestGateway::start("").await;
        for encoding in ["gzip", "br", "zstd"] {
            let headers = format!("connection: close\r\ncontent-encoding: {encoding}\r\n");
            let response = gateway.raw(post("/v1/messages", &headers, "x")).await;
            assert_eq!(statuses(&response), [415], "{response}");
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn ambiguous_body_lengths_are_rejected_and_nothing_behind_them_is_served() {
    case(async {
        let gateway = TestGateway::start("").await;
        let smuggled = "0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
        for headers in [
            "content-length: 5\r\ntransfer-encoding: chunked",
            "transfer-encoding: chunked\r\ncontent-length: 5",
            "content-length: 5\r\ncontent-length: 5",
            "content-length: 5\r\ncontent-length: 6",
            "content-length: +5",
            "content-length: 0x5",
            "content-length: 5,5",
            "content-length: 99999999999999999999",
            "transfer-encoding: xchunked",
            "transfer-encoding: gzip, chunked",
            "transfer-encoding: chunked, chunked",
            "transfer-encoding: chunked;q=1",
        ] {
            let head =
                format!("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n\r\n");
            let response = gateway.raw(head + smuggled).await;
            assert_eq!(statuses(&response), [400], "{headers}: {response}");
        }
        let old =
            "POST /v1/messages HTTP/1.0\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n";
        let response = gateway.raw(old.to_owned() + smuggled).await;
        assert!(
            response.starts_with("HTTP/1.0 400") || statuses(&response) == [400],
            "{response}"
        );
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_truncated_body_calls_no_upstream() {
    case(async {
        let upstream = Upstream::start([Script::new()]).await;
        let gateway = TestGateway::start(&provider(&upstream)).await;
        let mut client = gateway.connect().await;
        client
            .send("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99\r\n\r\n{}")
            .await;
        client.stream.shutdown().await.expect("it is open");
        let response = client.rest().await;
        assert!(
            response.is_empty() || statuses(&response) == [400],
            "{response}"
        );
        gateway.assert_alive().await;
        assert_eq!(upstream.connections().len(), 0);
        gateway.assert_invariants((upstream, client)).await;
    });
}

#[test]
fn bytes_after_a_body_are_a_separate_request_that_needs_its_own_key() {
    case(async {
        let gateway =
            TestGateway::start(&format!("[[keys]]\nname = \"a\"\nkey = \"{CLIENT_KEY}\"\n")).await;
        let headers = format!("x-api-key: {CLIENT_KEY}\r\n");
        let first = post("/v1/messages", &headers, "{}");
        let second = "GET /v1/models HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        let responses = gateway.raw(first + second).await;
        assert_eq!(statuses(&responses), [400, 401], "{responses}");
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn pipelined_requests_are_served_in_order_and_each_head_is_checked() {
    case(async {
        let gateway = TestGateway::start("").await;
        let get = |path: &str, more: &str| {
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{more}\r\n")
        };
        let body = post("/v1/messages", "", "{}");
        let bad = "content-length: 0\r\ncontent-length: 0\r\n";
        let all = get("/healthz", "") + &body + &get("/nowhere", "") + &get("/healthz", bad);
        let responses = gateway.raw(all + &get("/healthz", "")).await;
        assert_eq!(statuses(&responses), [200, 400, 404, 400], "{responses}");
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn malformed_chunks_are_rejected() {
    case(async {
        let gateway = TestGateway::start("").await;
        let extension = format!("5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(40_000));
        for chunks in [
            "fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
            "5\r\nhelloXX0\r\n\r\n",
            "x\r\nhello\r\n",
            &extension,
        ] {
            let head = "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n";
            let response = gateway.raw(format!("{head}{chunks}")).await;
            let shown = &chunks[..20.min(chunks.len())];
            assert_eq!(statuses(&response), [400], "{shown:?}: {response}");
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn no_100_continue_is_sent_for_a_request_that_will_be_rejected() {
    case(async {
        let keys = format!("{SMALL}[[keys]]\nname = \"a\"\nkey = \"{CLIENT_KEY}\"\n");
        let gateway = TestGateway::start(&keys).await;
        let head = |key: &str, length: usize| {
            format!(
                "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\n\
             expect: 100-continue\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
            )
        };
        assert_eq!(statuses(&gateway.raw(head("wrong", 5)).await), [401]);
        assert_eq!(statuses(&gateway.raw(head(CLIENT_KEY, 9_999)).await), [413]);
        let mut client = gateway.connect().await;
        client.send(head(CLIENT_KEY, 2)).await;
        client.until("100 Continue").await;
        client.send("{}").await;
        assert_eq!(statuses(&client.rest().await), [400]);
        gateway.assert_invariants(client).await;
    });
}

#[test]
fn every_request_has_exactly_one_log_line() {
    case(async {
        let gateway = TestGateway::start(SMALL).await;
        let refused = post("/v1/messages", "connection: close\r\n", "{}");
        for request in [
            chat_request("demo/text", false),
            chat_request("demo/text", true),
            refused,
        ] {
            let response = gateway.raw(request).await;
            let id = header(&response, "x-majordomo-request-id").expect("it has an id");
            gateway
                .poll_operator_until("/metrics", "majordomo_open_requests 0")
                .await;
            let lines = crate::test_gateway::lines_of(id);
            assert_eq!(lines.len(), 1, "{lines:#?}");
            assert!(lines[0].contains("outcome="), "{lines:?}");
        }
        gateway.assert_invariants(()).await;
    });
}
