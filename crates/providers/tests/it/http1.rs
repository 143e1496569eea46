//! HTTP/1.1: requests on the wire, connection reuse, broken connections.

use std::time::Duration;

use crate::support::{SOON, drain, post, send_buffered, send_refused, send_streaming, transport};
use bytes::Bytes;
use majordomo_llm::{Class, ErrorKind};
use majordomo_providers::transport::TransportRequest;
use majordomo_testkit::{Script, Upstream};

fn ok() -> Script {
    Script::new()
        .read_request()
        .respond(200, "application/json", "{}")
}

#[tokio::test]
async fn a_request_is_sent_verbatim_with_default_headers() {
    let upstream = Upstream::start([ok().stall()]).await;
    let request = post(upstream.uri("/v1/chat?beta=true"))
        .header("content-type", "application/json")
        .unwrap();
    send_buffered(&transport(), request).await.unwrap();
    let seen = &upstream.requests()[0];
    let line = "POST /v1/chat?beta=true HTTP/1.1";
    assert_eq!(seen.head.lines().next(), Some(line));
    assert_eq!(seen.body, r#"{"model":"m"}"#);
    let host = upstream.address().to_string();
    let agent = concat!("majordomo/", env!("CARGO_PKG_VERSION"));
    for (name, value) in [
        ("host", host.as_str()),
        ("content-type", "application/json"),
        ("content-length", "13"),
        ("accept-encoding", "identity"),
        ("user-agent", agent),
    ] {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }
}

#[tokio::test]
async fn a_connection_is_reused() {
    let upstream = Upstream::start([ok().times(3).stall()]).await;
    let transport = transport();
    for _ in 0..3 {
        assert_eq!(
            send_buffered(&transport, post(upstream.uri("/")))
                .await
                .unwrap(),
            "{}"
        );
    }
    assert_eq!(upstream.connections().len(), 1);
    assert_eq!(upstream.requests().len(), 3);
}

#[tokio::test]
async fn a_completed_stream_returns_its_connection_to_the_pool() {
    let script = Script::new().read_request().stream_head();
    let script = script
        .chunk("data: a\n\n")
        .chunk("data: b\n\n")
        .last_chunk();
    let upstream = Upstream::start([script.times(2).stall()]).await;
    let transport = transport();
    for _ in 0..2 {
        let stream = send_streaming(&transport, post(upstream.uri("/")))
            .await
            .unwrap();
        let (all, error) = drain(stream).await;
        assert_eq!(all, b"data: a\n\ndata: b\n\n");
        assert!(error.is_none());
    }
    assert_eq!(upstream.connections().len(), 1);
}

#[tokio::test]
async fn dropping_the_transport_closes_its_connections() {
    let upstream = Upstream::start([ok().stall()]).await;
    let transport = transport();
    send_buffered(&transport, post(upstream.uri("/")))
        .await
        .unwrap();
    drop(transport);
    upstream.closed(0, SOON).await;
}

#[tokio::test]
async fn a_response_in_many_chunks_is_reassembled() {
    let body: Vec<u8> = (0..300_000u32).map(|it| it as u8).collect();
    let mut script = Script::new().read_request().stream_head();
    for chunk in body.chunks(7_000) {
        script = script.chunk(chunk);
    }
    let upstream = Upstream::start([script.last_chunk().stall()]).await;
    let response = send_buffered(&transport(), post(upstream.uri("/"))).await;
    assert_eq!(response.unwrap(), body);
}

#[tokio::test]
async fn a_large_request_arrives_intact() {
    let upstream = Upstream::start([ok().stall()]).await;
    let body = Bytes::from(vec![b'x'; 3_000_000]);
    let request = TransportRequest::post(upstream.uri("/"), body.clone());
    send_buffered(&transport(), request).await.unwrap();
    let seen = &upstream.requests()[0];
    assert_eq!(seen.header("content-length"), Some("3000000"));
    assert_eq!(seen.body, body);
}

#[tokio::test]
async fn a_new_connection_closed_without_a_response_is_a_lost_connection() {
    for script in [Script::new(), Script::new().read_request()] {
        let upstream = Upstream::start([script]).await;
        let error = send_buffered(&transport(), post(upstream.uri("/"))).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
        assert_eq!(error.class(), Class::Transient);
    }
}

#[tokio::test]
async fn a_pooled_connection_closed_while_idle_is_not_reused() {
    let upstream = Upstream::start([ok(), ok().reset(), ok().stall()]).await;
    let transport = transport();
    for _ in 0..3 {
        send_buffered(&transport, post(upstream.uri("/")))
            .await
            .unwrap();
        // Lets the script close its side before the next request.
        tokio::task::yield_now().await;
    }
    assert_eq!(upstream.connections().len(), 3);
    assert_eq!(upstream.requests().len(), 3);
}

#[tokio::test]
async fn a_reset_before_the_response_is_a_lost_connection() {
    let upstream = Upstream::start([Script::new().read_request().reset()]).await;
    let error = send_buffered(&transport(), post(upstream.uri("/"))).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::ConnectionLost);
}

#[tokio::test]
async fn a_half_closed_stream_is_truncated() {
    let script = Script::new().read_request().stream_head().chunk("a");
    let upstream = Upstream::start([script.shut_write().stall()]).await;
    let stream = send_streaming(&transport(), post(upstream.uri("/")))
        .await
        .unwrap();
    let (all, error) = drain(stream).await;
    assert_eq!(all, b"a");
    assert_eq!(error.unwrap().kind(), ErrorKind::Truncated);
    upstream.closed(0, SOON).await;
}

#[tokio::test(start_paused = true)]
async fn a_reset_in_the_middle_of_a_stream_is_a_lost_connection() {
    let script = Script::new().read_request().stream_head().chunk("a");
    let script = script.wait(Duration::from_millis(20)).reset();
    let upstream = Upstream::start([script]).await;
    let stream = send_streaming(&transport(), post(upstream.uri("/")))
        .await
        .unwrap();
    let (all, error) = drain(stream).await;
    assert_eq!(all, b"a");
    assert_eq!(error.unwrap().kind(), ErrorKind::ConnectionLost);
}

#[tokio::test]
async fn an_early_error_response_is_returned_during_the_upload() {
    let polite = Script::new()
        .read_head()
        .respond(413, "text/plain", "too large")
        .expect_close(SOON);
    let rude = Script::new()
        .read_head()
        .respond(413, "text/plain", "too large")
        .reset();
    for script in [polite, rude] {
        let upstream = Upstream::start([script]).await;
        let request = TransportRequest::post(upstream.uri("/"), vec![0u8; 20 * 1024 * 1024]);
        let (head, body) = send_refused(&transport(), request).await;
        assert_eq!(
            (head.status().as_u16(), &body[..]),
            (413, &b"too large"[..])
        );
    }
}
