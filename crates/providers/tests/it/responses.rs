//! Usable and unusable responses: error statuses, redirects, size limits, broken
//! framing.

use std::time::Duration;

use crate::support::{
    SOON, config, drain, post, send_buffered, send_refused, send_streaming, stream_error, transport,
};
use majordomo_llm::ErrorKind;
use majordomo_providers::transport::{Transport, TransportResponse};
use majordomo_testkit::{Script, Upstream};
use tokio::time::Instant;

fn ok() -> Script {
    Script::new()
        .read_request()
        .respond(200, "application/json", "{}")
}

#[tokio::test]
async fn an_error_status_comes_with_its_body() {
    let script = Script::new().read_request().send(
        "HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\nx-request-id: req_9\r\n\
         content-length: 4\r\n\r\nslow",
    );
    let upstream = Upstream::start([script.times(2).stall()]).await;
    let transport = transport();
    let (head, body) = send_refused(&transport, post(upstream.uri("/"))).await;
    assert_eq!(head.status(), 429);
    assert_eq!(head.retry_after(), Some(Duration::from_secs(7)));
    assert_eq!(head.request_id(), Some("req_9"));
    assert_eq!(body, "slow");
    let response = transport.stream(post(upstream.uri("/"))).await.unwrap();
    assert!(matches!(response, TransportResponse::ErrorStatus(_, body) if body == "slow"));
    assert_eq!(upstream.connections().len(), 1);
}

#[tokio::test]
async fn an_endless_error_body_is_truncated_and_its_connection_closed() {
    let script = Script::new().read_request();
    let script = script
        .send("HTTP/1.1 500 Oops\r\n\r\n")
        .flood(vec![b'x'; 4096]);
    let upstream = Upstream::start([script]).await;
    let (head, body) = send_refused(&transport(), post(upstream.uri("/"))).await;
    assert_eq!(head.status(), 500);
    assert_eq!(body.len(), 64 * 1024);
    upstream.closed(0, SOON).await;
}

#[tokio::test(start_paused = true)]
async fn a_stalled_error_body_does_not_delay_the_error() {
    let script = Script::new().read_request();
    let script = script.send("HTTP/1.1 503 Busy\r\ncontent-length: 99\r\n\r\nbu");
    let upstream = Upstream::start([script.stall()]).await;
    let began = Instant::now();
    let (head, body) = send_refused(&transport(), post(upstream.uri("/"))).await;
    assert_eq!((head.status().as_u16(), &body[..]), (503, &b"bu"[..]));
    assert_eq!(began.elapsed().as_secs(), 10);
}

#[tokio::test]
async fn an_endless_stream_is_read_only_on_demand() {
    let script = Script::new().read_request();
    let script = script
        .send("HTTP/1.1 200 OK\r\n\r\n")
        .flood(vec![b'x'; 65_536]);
    let upstream = Upstream::start([script]).await;
    let mut stream = send_streaming(&transport(), post(upstream.uri("/")))
        .await
        .unwrap();
    let mut read = 0;
    while read < 1024 * 1024 {
        let chunk = stream.next().await.unwrap().unwrap();
        assert!(chunk.len() <= 64 * 1024);
        read += chunk.len();
    }
    drop(stream);
    upstream.closed(0, SOON).await;
    // At most the kernels' buffers on both sides, not the rest of the flood.
    let sent = upstream.connections()[0].bytes_sent;
    assert!(sent < 16 * 1024 * 1024, "{sent}");
}

#[tokio::test]
async fn a_compressed_response_is_rejected_without_decompression() {
    for encoding in ["gzip", "br", "zstd", "gzip, gzip", "deflate"] {
        let script = Script::new().read_request().send(format!(
            "HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\n\r\n"
        ));
        let upstream = Upstream::start([script.flood("bomb".repeat(1000))]).await;
        let response = send_buffered(&transport(), post(upstream.uri("/"))).await;
        let error = response.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadResponse, "{encoding}");
        assert!(error.to_string().contains(encoding), "{error}");
        upstream.closed(0, SOON).await;
    }
}

#[tokio::test]
async fn a_compressed_error_keeps_its_status() {
    let script = Script::new().read_request();
    let script =
        script.send("HTTP/1.1 400 Bad\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc");
    let upstream = Upstream::start([script.stall()]).await;
    let (head, body) = send_refused(&transport(), post(upstream.uri("/"))).await;
    assert_eq!((head.status().as_u16(), body.len()), (400, 0));
}

#[tokio::test]
async fn an_identity_encoded_response_is_accepted() {
    let script = Script::new().read_request();
    let script =
        script.send("HTTP/1.1 200 OK\r\ncontent-encoding: identity\r\ncontent-length: 2\r\n\r\n{}");
    let upstream = Upstream::start([script.stall()]).await;
    assert_eq!(
        send_buffered(&transport(), post(upstream.uri("/")))
            .await
            .unwrap(),
        "{}"
    );
}

#[tokio::test]
async fn an_oversized_response_is_rejected() {
    let announced = Script::new()
        .read_request()
        .send("HTTP/1.1 200 OK\r\ncontent-length: 2147483648\r\n\r\n")
        .flood(vec![b'x'; 65_536]);
    let endless = Script::new()
        .read_request()
        .send("HTTP/1.1 200 OK\r\n\r\n")
        .flood(vec![b'x'; 65_536]);
    for script in [announced, endless] {
        let upstream = Upstream::start([script]).await;
        let transport = Transport::new(config().max_response_bytes(1024 * 1024));
        let error = send_buffered(&transport, post(upstream.uri("/")))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadResponse);
        assert!(
            error.to_string().contains("more than 1048576 bytes"),
            "{error}"
        );
        upstream.closed(0, SOON).await;
    }
}

#[tokio::test]
async fn a_redirect_is_an_error_and_is_not_followed() {
    let elsewhere = Upstream::start([ok()]).await;
    let targets = [
        format!("{}", elsewhere.uri("/stolen")),
        "http://169.254.169.254/latest".to_owned(),
        "/again".to_owned(),
    ];
    for status in [301, 302, 303, 307, 308] {
        for target in &targets {
            let script = Script::new().read_request().send(format!(
                "HTTP/1.1 {status} Away\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n"
            ));
            let upstream = Upstream::start([script.stall()]).await;
            let error = send_buffered(&transport(), post(upstream.uri("/"))).await;
            let error = error.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BadResponse);
            assert_eq!(error.status(), Some(status));
            assert!(!error.to_string().contains("stolen"), "{error}");
            assert_eq!(upstream.requests().len(), 1);
        }
    }
    assert!(elsewhere.connections().is_empty());
}

#[tokio::test]
async fn a_few_interim_responses_are_skipped() {
    let script = Script::new().read_request();
    let script = script.send("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(16));
    let script = script.respond(200, "text/plain", "done").stall();
    let upstream = Upstream::start([script]).await;
    assert_eq!(
        send_buffered(&transport(), post(upstream.uri("/")))
            .await
            .unwrap(),
        "done"
    );
}

#[tokio::test]
async fn endless_interim_responses_are_rejected() {
    for status in ["100 Continue", "103 Early Hints"] {
        let script = Script::new().read_request();
        let script = script.flood(format!("HTTP/1.1 {status}\r\n\r\n"));
        let upstream = Upstream::start([script]).await;
        let error = send_buffered(&transport(), post(upstream.uri("/"))).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadResponse, "{error}");
        upstream.closed(0, SOON).await;
    }
}

#[tokio::test]
async fn a_status_without_a_body_is_an_error() {
    for status in [
        "204 No Content",
        "205 Reset Content",
        "304 Not Modified",
        "101 Switching Protocols",
    ] {
        let script = Script::new().read_request();
        let script = script.send(format!("HTTP/1.1 {status}\r\nupgrade: x\r\n\r\n"));
        let upstream = Upstream::start([script.stall()]).await;
        let error = send_buffered(&transport(), post(upstream.uri("/"))).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadResponse, "{status}: {error}");
    }
}

#[tokio::test]
async fn a_response_shorter_than_declared_is_truncated() {
    let short = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{\"a\":";
    let unended = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n";
    let mid_chunk = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\n{\"a\":";
    for bytes in [short, unended, mid_chunk] {
        let script = Script::new().read_request().send(bytes);
        let upstream = Upstream::start([script]).await;
        let transport = transport();
        let error = send_buffered(&transport, post(upstream.uri("/")))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated, "{bytes}");
        let error = stream_error(&transport, post(upstream.uri("/"))).await;
        assert_eq!(error.kind(), ErrorKind::Truncated, "{bytes}");
    }
}

#[tokio::test]
async fn bytes_after_a_response_never_reach_the_next_one() {
    let response = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    let extra = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nWRONG";
    let together = Script::new()
        .read_request()
        .send(format!("{response}{extra}"));
    let apart = Script::new().read_request().send(response).send(extra);
    for script in [together, apart] {
        let upstream = Upstream::start([script.stall(), ok().stall()]).await;
        let transport = transport();
        for _ in 0..2 {
            let body = send_buffered(&transport, post(upstream.uri("/"))).await;
            assert_eq!(body.unwrap(), "{}");
            tokio::task::yield_now().await;
        }
        assert_eq!(upstream.connections().len(), 2);
    }
}

#[tokio::test]
async fn a_close_delimited_body_is_passed_on_for_the_codec_to_judge() {
    let script = Script::new().read_request();
    let script = script.send("HTTP/1.1 200 OK\r\n\r\ndata: {\"half");
    let upstream = Upstream::start([script]).await;
    let stream = send_streaming(&transport(), post(upstream.uri("/")))
        .await
        .unwrap();
    let (all, error) = drain(stream).await;
    assert_eq!(all, b"data: {\"half");
    assert!(error.is_none());
}

#[tokio::test]
async fn invalid_framing_is_a_bad_response() {
    let rows = [
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        "SSH-2.0-OpenSSH\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: a\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
    ];
    for bytes in rows {
        let script = Script::new().read_request().send(bytes);
        let upstream = Upstream::start([script.stall()]).await;
        let error = send_buffered(&transport(), post(upstream.uri("/"))).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadResponse, "{bytes}: {error}");
    }
}

#[tokio::test]
async fn an_oversized_head_is_a_bad_response() {
    let script = Script::new().read_request().send("HTTP/1.1 200 OK\r\nx: ");
    let upstream = Upstream::start([script.flood("x".repeat(4096))]).await;
    let error = send_buffered(&transport(), post(upstream.uri("/"))).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::BadResponse);
    upstream.closed(0, SOON).await;
}
