//! Exchanges over HTTP/1.1: what is sent, what is kept, how connections break.

mod asking;

use std::time::Duration;

use asking::{SOON, drain, post, refusal, stream, transport, whole};
use bytes::Bytes;
use majordomo_llm::{Class, ErrorKind};
use majordomo_providers::transport::Outgoing;
use majordomo_testkit::{Script, Upstream};

fn ok() -> Script {
    Script::new()
        .read_request()
        .answer(200, "application/json", "{}")
}

#[tokio::test]
async fn a_request_is_sent_as_it_was_given() {
    let upstream = Upstream::start([ok().stall()]).await;
    let request = post(upstream.uri("/v1/chat?beta=true"))
        .header("content-type", "application/json")
        .unwrap();
    whole(&transport(), request).await.unwrap();
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
async fn a_connection_is_used_again() {
    let upstream = Upstream::start([ok().times(3).stall()]).await;
    let transport = transport();
    for _ in 0..3 {
        assert_eq!(
            whole(&transport, post(upstream.uri("/"))).await.unwrap(),
            "{}"
        );
    }
    assert_eq!(upstream.connections().len(), 1);
    assert_eq!(upstream.requests().len(), 3);
}

#[tokio::test]
async fn a_stream_that_was_read_to_its_end_gives_its_connection_back() {
    let script = Script::new().read_request().stream_head();
    let script = script
        .chunk("data: a\n\n")
        .chunk("data: b\n\n")
        .last_chunk();
    let upstream = Upstream::start([script.times(2).stall()]).await;
    let transport = transport();
    for _ in 0..2 {
        let stream = stream(&transport, post(upstream.uri("/"))).await.unwrap();
        let (all, error) = drain(stream).await;
        assert_eq!(all, b"data: a\n\ndata: b\n\n");
        assert!(error.is_none());
    }
    assert_eq!(upstream.connections().len(), 1);
}

#[tokio::test]
async fn a_transport_that_is_gone_leaves_no_connection_open() {
    let upstream = Upstream::start([ok().stall()]).await;
    let transport = transport();
    whole(&transport, post(upstream.uri("/"))).await.unwrap();
    drop(transport);
    upstream.closed(0, SOON).await;
}

#[tokio::test]
async fn an_answer_in_many_pieces_is_put_together() {
    let body: Vec<u8> = (0..300_000u32).map(|it| it as u8).collect();
    let mut script = Script::new().read_request().stream_head();
    for piece in body.chunks(7_000) {
        script = script.chunk(piece);
    }
    let upstream = Upstream::start([script.last_chunk().stall()]).await;
    let answer = whole(&transport(), post(upstream.uri("/"))).await;
    assert_eq!(answer.unwrap(), body);
}

#[tokio::test]
async fn a_large_request_arrives_in_one_piece() {
    let upstream = Upstream::start([ok().stall()]).await;
    let body = Bytes::from(vec![b'x'; 3_000_000]);
    let request = Outgoing::post(upstream.uri("/"), body.clone());
    whole(&transport(), request).await.unwrap();
    let seen = &upstream.requests()[0];
    assert_eq!(seen.header("content-length"), Some("3000000"));
    assert_eq!(seen.body, body);
}

#[tokio::test]
async fn u05_a_fresh_connection_that_is_closed_at_once_counts() {
    for script in [Script::new(), Script::new().read_request()] {
        let upstream = Upstream::start([script]).await;
        let error = whole(&transport(), post(upstream.uri("/"))).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
        assert_eq!(error.class(), Class::Transient);
    }
}

#[tokio::test]
async fn u06_a_kept_connection_that_was_closed_meanwhile_is_not_used() {
    let upstream = Upstream::start([ok(), ok().reset(), ok().stall()]).await;
    let transport = transport();
    for _ in 0..3 {
        whole(&transport, post(upstream.uri("/"))).await.unwrap();
        // The script goes on to close before this task runs again.
        tokio::task::yield_now().await;
    }
    assert_eq!(upstream.connections().len(), 3);
    assert_eq!(upstream.requests().len(), 3);
}

#[tokio::test]
async fn u07_a_reset_before_the_answer_is_a_lost_connection() {
    let upstream = Upstream::start([Script::new().read_request().reset()]).await;
    let error = whole(&transport(), post(upstream.uri("/"))).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::ConnectionLost);
}

#[tokio::test]
async fn u39_a_half_closed_stream_ends_where_it_was_cut() {
    let script = Script::new().read_request().stream_head().chunk("a");
    let upstream = Upstream::start([script.shut_write().stall()]).await;
    let stream = stream(&transport(), post(upstream.uri("/"))).await.unwrap();
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
    let stream = stream(&transport(), post(upstream.uri("/"))).await.unwrap();
    let (all, error) = drain(stream).await;
    assert_eq!(all, b"a");
    assert_eq!(error.unwrap().kind(), ErrorKind::ConnectionLost);
}

#[tokio::test]
async fn u41_an_early_answer_is_honoured_while_the_request_is_still_on_its_way() {
    let polite = Script::new()
        .read_head()
        .answer(413, "text/plain", "too large")
        .expect_close(SOON);
    let rude = Script::new()
        .read_head()
        .answer(413, "text/plain", "too large")
        .reset();
    for script in [polite, rude] {
        let upstream = Upstream::start([script]).await;
        let request = Outgoing::post(upstream.uri("/"), vec![0u8; 20 * 1024 * 1024]);
        let (head, body) = refusal(&transport(), request).await;
        assert_eq!(
            (head.status().as_u16(), &body[..]),
            (413, &b"too large"[..])
        );
    }
}
