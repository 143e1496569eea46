//! Exchanges over HTTP/2: shared connections, and servers that turn us away.

mod asking;

use std::time::Duration;

use asking::{SOON, config, drain, post, stream, stream_error, whole};
use h2::Reason;
use majordomo_llm::{Class, ErrorKind, Timer};
use majordomo_providers::transport::{Outgoing, Protocol, Transport};
use majordomo_testkit::{
    Authority, Http2Settings, Http2Upstream, Script, StreamStep, Upstream, frames,
};
use tokio::time::Instant;

/// Without TLS, HTTP/2 is spoken only when it is told to.
fn transport() -> Transport {
    Transport::new(config().protocol(Protocol::Http2))
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
async fn http2_is_spoken_where_tls_offers_it() {
    let authority = Authority::new();
    let settings = Http2Settings {
        identity: Some(authority.issue_http2("localhost")),
        ..Http2Settings::default()
    };
    let upstream = Http2Upstream::start(settings, [ok("{}")]).await;
    let transport = Transport::new(config().trust(authority.root()));
    for _ in 0..3 {
        let body = whole(&transport, post(upstream.secure_uri("/v1?x=1"))).await;
        assert_eq!(body.unwrap(), "{}");
    }
    let connections = upstream.connections();
    assert_eq!(connections.len(), 1);
    let head = &connections[0].requests[0].head;
    assert_eq!(*head, format!("POST {}", upstream.secure_uri("/v1?x=1")));
}

#[tokio::test]
async fn a_large_request_goes_through_small_windows() {
    let settings = Http2Settings {
        stream_window: Some(1024),
        ..Http2Settings::default()
    };
    let upstream = Http2Upstream::start(settings, [ok("{}")]).await;
    let request = Outgoing::post(upstream.uri("/"), vec![0u8; 300_000]);
    assert_eq!(whole(&transport(), request).await.unwrap(), "{}");
}

#[tokio::test]
async fn u42_a_refused_stream_was_never_sent() {
    let refuse = vec![StreamStep::Reset(Reason::REFUSED_STREAM)];
    let upstream = upstream([refuse, ok("{}")]).await;
    let transport = transport();
    let error = whole(&transport, post(upstream.uri("/")))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NeverSent, "{error}");
    assert_eq!(error.class(), Class::NeverSent);
    assert_eq!(
        whole(&transport, post(upstream.uri("/"))).await.unwrap(),
        "{}"
    );
}

#[tokio::test]
async fn u42_a_stream_after_the_last_one_was_never_sent() {
    let script = Script::new()
        .send(frames::settings())
        .read_frame(frames::HEADERS)
        .send(frames::go_away(0, 0));
    let upstream = Upstream::start([script.stall()]).await;
    let transport = transport();
    let error = whole(&transport, post(upstream.uri("/")))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NeverSent, "{error}");
    let error = whole(&transport, post(upstream.uri("/")))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NeverSent, "{error}");
    assert_eq!(upstream.connections().len(), 2);
}

#[tokio::test]
async fn u42_a_connection_that_dies_with_our_stream_was_not_refused() {
    let script = Script::new()
        .send(frames::settings())
        .read_frame(frames::HEADERS)
        .send(frames::go_away(1, 2));
    let upstream = Upstream::start([script]).await;
    let error = whole(&transport(), post(upstream.uri("/"))).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::ConnectionLost);
}

#[tokio::test(start_paused = true)]
async fn u43_a_graceful_farewell_lets_streams_finish_and_moves_on() {
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
    let mut running = stream(&transport, post(upstream.uri("/"))).await.unwrap();
    assert_eq!(running.next().await.unwrap().unwrap(), "a");
    // The farewell is on its way; the next request must not be lost to it.
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(
        whole(&transport, post(upstream.uri("/"))).await.unwrap(),
        "{}"
    );
    let (rest, error) = drain(running).await;
    assert_eq!(rest, b"b");
    assert!(error.is_none(), "{error:?}");
    assert_eq!(upstream.connections().len(), 2);
}

#[tokio::test]
async fn u44_a_reset_before_the_head_is_a_lost_connection() {
    let upstream = upstream([vec![StreamStep::Reset(Reason::INTERNAL_ERROR)]]).await;
    let error = whole(&transport(), post(upstream.uri("/"))).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::ConnectionLost);
}

#[tokio::test]
async fn u44_a_reset_after_the_head_is_a_lost_connection() {
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
async fn u44_a_reset_after_the_end_takes_nothing_away() {
    let script = Script::new()
        .send(frames::settings())
        .read_frame(frames::DATA)
        .send(frames::ok(1))
        .send(frames::data(1, b"all", true))
        .send(frames::reset(1, 0));
    let upstream = Upstream::start([script.stall()]).await;
    assert_eq!(
        whole(&transport(), post(upstream.uri("/"))).await.unwrap(),
        "all"
    );
}

#[tokio::test(start_paused = true)]
async fn u45_a_window_that_never_opens_runs_into_the_write_timer() {
    let settings = Http2Settings {
        stream_window: Some(0),
        ..Http2Settings::default()
    };
    let upstream = Http2Upstream::start(settings, [vec![StreamStep::Stall]]).await;
    let request = Outgoing::post(upstream.uri("/"), vec![0u8; 300_000]);
    let began = Instant::now();
    let error = whole(&transport(), request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout(Timer::Write), "{error}");
    assert_eq!(began.elapsed().as_secs(), 30);
    upstream.closed(0, SOON).await;
}

#[tokio::test]
async fn u45_a_server_that_takes_one_stream_at_a_time_serves_a_hundred() {
    let settings = Http2Settings {
        most_streams: Some(1),
        ..Http2Settings::default()
    };
    let upstream = Http2Upstream::start(settings, [ok("{}")]).await;
    let transport = transport();
    whole(&transport, post(upstream.uri("/"))).await.unwrap();
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (transport, request) = (transport.clone(), post(upstream.uri("/")));
        asking.spawn(async move { whole(&transport, request).await });
    }
    for answer in asking.join_all().await {
        assert_eq!(answer.unwrap(), "{}");
    }
}

#[tokio::test(start_paused = true)]
async fn u45_a_ping_without_an_answer_ends_the_connection() {
    let script = Script::new()
        .send(frames::settings())
        .send(frames::settings_ack())
        .read_frame(frames::DATA)
        .send(frames::ok(1))
        .send(frames::data(1, b"a", false));
    let upstream = Upstream::start([script.stall()]).await;
    let stream = stream(&transport(), post(upstream.uri("/"))).await.unwrap();
    let began = Instant::now();
    let (all, error) = drain(stream).await;
    assert_eq!(all, b"a");
    let error = error.unwrap();
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    assert!(began.elapsed() <= Duration::from_secs(21));
    upstream.closed(0, SOON).await;
}

#[tokio::test(start_paused = true)]
async fn an_unused_connection_is_closed_after_a_while() {
    let upstream = upstream([ok("{}")]).await;
    let transport = transport();
    whole(&transport, post(upstream.uri("/"))).await.unwrap();
    let began = Instant::now();
    upstream.closed(0, Duration::from_secs(120)).await;
    assert!(began.elapsed() > Duration::from_secs(50));
}

#[tokio::test]
async fn a_burst_of_requests_shares_a_connection_once_the_server_is_known() {
    let upstream = upstream([ok("{}")]).await;
    let transport = transport();
    whole(&transport, post(upstream.uri("/"))).await.unwrap();
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let (transport, request) = (transport.clone(), post(upstream.uri("/")));
        asking.spawn(async move { whole(&transport, request).await });
    }
    for answer in asking.join_all().await {
        assert_eq!(answer.unwrap(), "{}");
    }
    assert_eq!(upstream.connections().len(), 1);
}
