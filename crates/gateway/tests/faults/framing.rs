//! Body framing: wrong, ambiguous and excessive lengths (RFC 9112, section 6).

use majordomo_testkit::{Script, Upstream};
use tokio::io::AsyncWriteExt;

use crate::stage::{CLIENT_KEY, Stage, ask, case, header, post, provider, statuses};

const SMALL: &str = "[server]\nmax_body = \"1KiB\"\n";

#[test]
fn an_oversized_body_is_rejected_as_soon_as_its_size_is_known() {
    case(async {
        let stage = Stage::start(SMALL).await;
        // No body is sent: the declared length is enough.
        let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n";
        let declared = stage
            .raw(format!("{head}content-length: 1025\r\n\r\n"))
            .await;
        assert_eq!(statuses(&declared), [413], "{declared}");
        let chunk = format!("401\r\n{}\r\n", "a".repeat(1025));
        let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n{chunk}");
        let chunked = stage.raw(chunked).await;
        assert_eq!(statuses(&chunked), [413], "{chunked}");
        let body = "a".repeat(1024);
        let exact = stage
            .raw(post("/v1/messages", "connection: close\r\n", &body))
            .await;
        assert_eq!(statuses(&exact), [400], "{exact}");
        stage.holds(()).await;
    });
}

#[test]
fn a_compressed_body_is_rejected() {
    case(async {
        let stage = Stage::start("").await;
        for encoding in ["gzip", "br", "zstd"] {
            let headers = format!("connection: close\r\ncontent-encoding: {encoding}\r\n");
            let answer = stage.raw(post("/v1/messages", &headers, "x")).await;
            assert_eq!(statuses(&answer), [415], "{answer}");
        }
        stage.holds(()).await;
    });
}

#[test]
fn ambiguous_body_lengths_are_rejected_and_nothing_behind_them_is_served() {
    case(async {
        let stage = Stage::start("").await;
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
            let answer = stage.raw(head + smuggled).await;
            assert_eq!(statuses(&answer), [400], "{headers}: {answer}");
        }
        let old =
            "POST /v1/messages HTTP/1.0\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n";
        let answer = stage.raw(old.to_owned() + smuggled).await;
        assert!(
            answer.starts_with("HTTP/1.0 400") || statuses(&answer) == [400],
            "{answer}"
        );
        stage.holds(()).await;
    });
}

#[test]
fn a_truncated_body_calls_no_upstream() {
    case(async {
        let upstream = Upstream::start([Script::new()]).await;
        let stage = Stage::start(&provider(&upstream)).await;
        let mut client = stage.connect().await;
        client
            .send("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99\r\n\r\n{}")
            .await;
        client.stream.shutdown().await.expect("it is open");
        let answer = client.rest().await;
        assert!(answer.is_empty() || statuses(&answer) == [400], "{answer}");
        stage.assert_alive().await;
        assert_eq!(upstream.connections().len(), 0);
        stage.holds((upstream, client)).await;
    });
}

#[test]
fn bytes_after_a_body_are_a_separate_request_that_needs_its_own_key() {
    case(async {
        let stage =
            Stage::start(&format!("[[keys]]\nname = \"a\"\nkey = \"{CLIENT_KEY}\"\n")).await;
        let headers = format!("x-api-key: {CLIENT_KEY}\r\n");
        let first = post("/v1/messages", &headers, "{}");
        let second = "GET /v1/models HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        let answers = stage.raw(first + second).await;
        assert_eq!(statuses(&answers), [400, 401], "{answers}");
        stage.holds(()).await;
    });
}

#[test]
fn pipelined_requests_are_served_in_order_and_each_head_is_checked() {
    case(async {
        let stage = Stage::start("").await;
        let get = |path: &str, more: &str| {
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{more}\r\n")
        };
        let body = post("/v1/messages", "", "{}");
        let bad = "content-length: 0\r\ncontent-length: 0\r\n";
        let all = get("/healthz", "") + &body + &get("/nowhere", "") + &get("/healthz", bad);
        let answers = stage.raw(all + &get("/healthz", "")).await;
        assert_eq!(statuses(&answers), [200, 400, 404, 400], "{answers}");
        stage.holds(()).await;
    });
}

#[test]
fn malformed_chunks_are_rejected() {
    case(async {
        let stage = Stage::start("").await;
        let extension = format!("5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(40_000));
        for chunks in [
            "fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
            "5\r\nhelloXX0\r\n\r\n",
            "x\r\nhello\r\n",
            &extension,
        ] {
            let head = "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n";
            let answer = stage.raw(format!("{head}{chunks}")).await;
            let shown = &chunks[..20.min(chunks.len())];
            assert_eq!(statuses(&answer), [400], "{shown:?}: {answer}");
        }
        stage.holds(()).await;
    });
}

#[test]
fn no_100_continue_is_sent_for_a_request_that_will_be_rejected() {
    case(async {
        let keys = format!("{SMALL}[[keys]]\nname = \"a\"\nkey = \"{CLIENT_KEY}\"\n");
        let stage = Stage::start(&keys).await;
        let head = |key: &str, length: usize| {
            format!(
                "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\n\
             expect: 100-continue\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
            )
        };
        assert_eq!(statuses(&stage.raw(head("wrong", 5)).await), [401]);
        assert_eq!(statuses(&stage.raw(head(CLIENT_KEY, 9_999)).await), [413]);
        let mut client = stage.connect().await;
        client.send(head(CLIENT_KEY, 2)).await;
        client.until("100 Continue").await;
        client.send("{}").await;
        assert_eq!(statuses(&client.rest().await), [400]);
        stage.holds(client).await;
    });
}

#[test]
fn every_request_has_exactly_one_log_line() {
    case(async {
        let stage = Stage::start(SMALL).await;
        let refused = post("/v1/messages", "connection: close\r\n", "{}");
        for request in [ask("demo/text", false), ask("demo/text", true), refused] {
            let answer = stage.raw(request).await;
            let id = header(&answer, "x-majordomo-request-id").expect("it has an id");
            stage
                .look_until("/metrics", "majordomo_open_requests 0")
                .await;
            let lines = crate::stage::lines_of(id);
            assert_eq!(lines.len(), 1, "{lines:#?}");
            assert!(lines[0].contains("outcome="), "{lines:?}");
        }
        stage.holds(()).await;
    });
}
