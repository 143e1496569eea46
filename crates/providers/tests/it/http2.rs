//! HTTP/2: shared connections, refused streams, GOAWAY, flow control.

use std::time::Duration;

use crate::support::{SOON, config, drain, post, send_buffered, send_streaming, stream_error};
use h2::Reason;
use majordomo_llm::{Class, ErrorKind, Timer};
use majordomo_providers::transport::{HttpVersions, Transport, TransportRequest};
use majordomo_testkit::{
    Authority, Http2Settings, Http2Upstream, Script, StreamStep, Upstream, frames,
};
use tokio::time::Instant;

/// Uses HTTP/2 with prior knowledge, since there is no ALPN without TLS.
fn transport() -> Transport {
    Transport::new(config().http_versions(HttpVersions::Http2))
}

fn ok(body: &'static str) -> Vec<StreamStep> {
    vec![
        StreamStep::ReadBody,
        StreamStep::Head(200),
        StreamStep::Data(body.into()),
        StreamStep::End,
    ]
}

async fn upstream<const N: usize>(streams: [Vec<StreamStep>; N]) -> Http2Upstream {
    Http2Upstream::start(Http2Settings::default(), streams).await
}

#[tokio::test]
async fn http2_is_negotiated_by_alpn() {
    let authority = Authority::new();
    let settings = Http2Settings {
        identity: Some(authority.issue_http2("localhost")),
        ..Http2Settings::default()
    };
    let upstream = Http2Upstream::start(settings, [ok("{}")]).await;
    let transport = Transport::new(config().trust(authority.root()));
    for _ in 0..3 {
        let body = send_buffered(&transport, post(upstream.secure_uri("/v1?x=1"))).await;
        assert_eq!(body.unwrap(), "{}");
    }
    let connections = upstream.connections();
    assert_eq!(connections.len(), 1);
    let head = &connections[0].requests[0].head;
    assert_eq!(*head, format!("POST {}", upstream.secure_uri("/v1?x=1")));
}

#[tokio::test]
async fn a_large_request_passes_through_small_windows() {
    let settings = Http2Settings {
        stream_window: Some(1024),
        ..Http2Settings::default()
    };
    let upstream = Http2Upstream::start(settings, [ok("{}")]).await;
    let request = TransportRequest::post(upstream.uri("/"), vec![0u8; 300_000]);
    assert_eq!(send_buffered(&transport(), request).await.unwrap(), "{}");
}

#[tokio::test]
async fn a_refused_http2_stream_was_never_sent() {
    let refuse = vec![StreamStep::Reset(Reason::REFUSED_STREAM)];
    let upstream = upstream([refuse, ok("{}")]).await;
    let transport = transport();
    let error = send_buffered(&transport, post(upstream.uri("/")))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NeverSent, "{error}");
    assert_eq!(error.class(), Class::NeverSent);
    assert_eq!(
        send_buffered(&transport, post(upstream.uri("/")))
            .await
            .unwrap(),
        "{}"
    );
}

#[tokio::test]
async fn a_stream_above_the_last_id_of_a_goaway_was_never_sent() {
    let script = Script::new()
        .send(frames::settings())
        .read_frame(frames::HEADERS)
        .send(frames::go_away(0, 0));
    let upstream = Upstream::start([script.stall()]).await;
    let transport = transport();
    let error = send_buffered(&transport, post(upstream.uri("/")))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NeverSent, "{error}");
    let error = send_buffered(&transport, post(upstream.uri("/")))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NeverSent, "{error}");
    assert_eq!(upstream.connections().len(), 2);
}

#[tokio::test]
async fn a_goaway_that_includes_our_stream_is_a_lost_connection() {
    let script = Script::new()
        .send(frames::settings())
        .read_frame(frames::HEADERS)
        .send(frames::go_away(1, 2));
    let upstream = Upstream::start([script]).await;
    let error = send_buffered(&transport(), post(upstream.uri("/"))).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::ConnectionLost);
}

#[tokio::test(start_paused = true)]
async fn a_graceful_goaway_lets_streams_finish_and_opens_a_new_connection() {
    let first = vec![
        StreamStep::Head(200),
        StreamStep::Data("a".into()),
        StreamStep::GoAway,
        StreamStep::Wait(Duration::from_millis(100)),
        StreamStep::Data("b".into()),
        StreamStep::End,
    ];
    let upstream = upstream([first, ok("{}")]).await;
    let transport = transport();
    let mut running = send_streaming(&transport, post(upstream.uri("/")))
        .await
        .unwrap();
    assert_eq!(running.next().await.unwrap().unwrap(), "a");
    // The GOAWAY is in flight; the next request must not be lost to it.
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(
        send_buffered(&transport, post(upstream.uri("/")))
            .await
            .unwrap(),
        "{}"
    );
    let (rest, error) = drain(running).await;
    assert_eq!(rest, b"b");
    assert!(error.is_none(), "{error:?}");
    assert_eq!(upstream.connections().len(), 2);
}

#[tokio::test]
async fn a_stream_reset_before_the_head_is_a_lost_connection() {
    let upstream = upstream([vec![StreamStep::Reset(Reason::INTERNAL_ERROR)]]).await;
    let error = send_buffered(&transport(), post(upstream.uri("/"))).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::ConnectionLost);
}

#[tokio::test]
async fn a_stream_reset_after_the_head_is_a_lost_connection() {
    for reason in [Reason::INTERNAL_ERROR, Reason::REFUSED_STREAM] {
        let script = Script::new()
            .send(frames::settings())
            .read_frame(frames::DATA)
            .send(frames::ok(1))
            .send(frames::data(1, b"a", false))
            .send(frames::reset(1, reason.into()));
        let upstream = Upstream::start([script.stall()]).await;
        let error = stream_error(&transport(), post(upstream.uri("/"))).await;
        assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    }
}

#[tokio::test]
async fn a_stream_reset_after_the_end_is_ignored() {
    let script = Script::new()
        .send(frames::settings())
        .read_frame(frames::DATA)
        .send(frames::ok(1))
        .send(frames::data(1, b"all", true))
        .send(frames::reset(1, 0));
    let upstream = Upstream::start([script.stall()]).await;
    assert_eq!(
        send_buffered(&transport(), post(upstream.uri("/")))
            .await
            .unwrap(),
        "all"
    );
}

#[tokio::test(start_paused = true)]
async fn a_flow_control_window_that_never_opens_hits_the_write_timeout() {
    let settings = Http2Settings {
        stream_window: Some(0),
        ..Http2Settings::default()
    };
    let upstream = Http2Upstream::start(settings, [vec![StreamStep::Stall]]).await;
    let request = TransportRequest::post(upstream.uri("/"), vec![0u8; 300_000]);
    let began = Instant::now();
    let error = send_buffered(&transport(), request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout(Timer::Write), "{error}");
    assert_eq!(began.elapsed().as_secs(), 30);
    upstream.closed(0, SOON).await;
}

#[tokio::test]
async fn a_server_with_one_concurrent_stream_serves_a_hundred_requests() {
    let settings = Http2Settings {
        most_streams: Some(1),
        ..Http2Settings::default()
    };
    let upstream = Http2Upstream::start(settings, [ok("{}")]).await;
    let transport = transport();
    send_buffered(&transport, post(upstream.uri("/")))
        .await
        .unwrap();
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (transport, request) = (transport.clone(), post(upstream.uri("/")));
        requests.spawn(async move { send_buffered(&transport, request).await });
    }
    for response in requests.join_all().await {
        assert_eq!(response.unwrap(), "{}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unacknowledged_ping_closes_the_connection() {
    let script = Script::new()
        .send(frames::settings())
        .send(frames::settings_ack())
        .read_frame(frames::DATA)
        .send(frames::ok(1))
        .send(frames::data(1, b"a", false));
    let upstream = Upstream::start([script.stall()]).await;
    let stream = send_streaming(&transport(), post(upstream.uri("/")))
        .await
        .unwrap();
    let began = Instant::now();
    let (all, error) = drain(stream).await;
    assert_eq!(all, b"a");
    let error = error.unwrap();
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    assert!(began.elapsed() <= Duration::from_secs(21));
    upstream.closed(0, SOON).await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_http2_connection_is_closed_after_its_timeout() {
    let upstream = upstream([ok("{}")]).await;
    let transport = transport();
    send_buffered(&transport, post(upstream.uri("/")))
        .await
        .unwrap();
    let began = Instant::now();
    upstream.closed(0, Duration::from_secs(120)).await;
    assert!(began.elapsed() > Duration::from_secs(50));
}

#[tokio::test]
async fn a_burst_of_requests_to_a_known_http2_server_shares_a_connection() {
    let upstream = upstream([ok("{}")]).await;
    let transport = transport();
    send_buffered(&transport, post(upstream.uri("/")))
        .await
        .unwrap();
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let (transport, request) = (transport.clone(), post(upstream.uri("/")));
        requests.spawn(async move { send_buffered(&transport, request).await });
    }
    for response in requests.join_all().await {
        assert_eq!(response.unwrap(), "{}");
    }
    assert_eq!(upstream.connections().len(), 1);
}
