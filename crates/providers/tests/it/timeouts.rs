//! Every timeout, in virtual time over real sockets.

use std::time::Duration;

use crate::support::{
    SOON, config, drain, post, send_buffered, send_streaming, stream_error, transport,
};
use majordomo_llm::{Error, ErrorKind, Timer};
use majordomo_providers::transport::{Timeouts, Transport, TransportRequest};
use majordomo_testkit::{Script, Upstream};
use tokio::time::Instant;

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// An upstream that has read the request.
fn after_request() -> Script {
    Script::new().read_request()
}

/// The timeout that ended an exchange, and after how many seconds.
#[derive(Debug, PartialEq, Eq)]
struct Expired(Timer, u64);

/// A scripted upstream, and how a call to it failed.
struct TimedOut {
    upstream: Upstream,
    error: Error,
    expired: Expired,
}

impl TimedOut {
    /// Requests a stream, which must fail before its end.
    async fn streaming(script: Script) -> Self {
        let upstream = Upstream::start([script]).await;
        let began = Instant::now();
        let error = stream_error(&transport(), post(upstream.uri("/"))).await;
        Self::new(upstream, began, error)
    }

    /// Requests a buffered response, which must fail.
    async fn buffered(script: Script, body: Vec<u8>) -> Self {
        let upstream = Upstream::start([script]).await;
        let began = Instant::now();
        let request = TransportRequest::post(upstream.uri("/"), body);
        let error = send_buffered(&transport(), request)
            .await
            .expect_err("a timeout");
        Self::new(upstream, began, error)
    }

    fn new(upstream: Upstream, began: Instant, error: Error) -> Self {
        let ErrorKind::Timeout(timer) = error.kind() else {
            panic!("not a timeout: {error}");
        };
        Self {
            upstream,
            error,
            expired: Expired(timer, began.elapsed().as_secs()),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_http1_connection_is_closed_after_its_timeout() {
    let ok = after_request().respond(200, "application/json", "{}");
    let upstream = Upstream::start([ok.stall()]).await;
    let transport = Transport::new(config().idle_connections(8, secs(20)));
    send_buffered(&transport, post(upstream.uri("/")))
        .await
        .unwrap();
    let began = Instant::now();
    upstream.closed(0, secs(60)).await;
    let kept = began.elapsed();
    assert!(kept > secs(14) && kept < secs(26), "{kept:?}");
}

#[tokio::test(start_paused = true)]
async fn a_missing_response_head_hits_the_first_byte_timeout() {
    let ended = TimedOut::streaming(after_request().stall()).await;
    assert_eq!(ended.expired, Expired(Timer::FirstByte, 60));
    let address = ended.upstream.address();
    let expected =
        format!("{address} sent no byte of its response within 60s (first-byte timeout)");
    assert_eq!(ended.error.to_string(), expected);
    ended.upstream.closed(0, Duration::from_millis(250)).await;
}

#[tokio::test(start_paused = true)]
async fn a_trickling_response_head_hits_the_first_byte_timeout() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n".repeat(4);
    let ended = TimedOut::streaming(after_request().drip(head, secs(1))).await;
    assert_eq!(ended.expired, Expired(Timer::FirstByte, 60));
}

#[tokio::test(start_paused = true)]
async fn a_head_without_a_body_hits_the_first_byte_timeout() {
    let ended = TimedOut::streaming(after_request().stream_head().stall()).await;
    assert_eq!(ended.expired, Expired(Timer::FirstByte, 60));
}

#[tokio::test(start_paused = true)]
async fn a_late_head_does_not_extend_the_first_byte_timeout() {
    let ended = TimedOut::streaming(after_request().wait(secs(40)).stream_head().stall()).await;
    assert_eq!(ended.expired, Expired(Timer::FirstByte, 60));
}

#[tokio::test(start_paused = true)]
async fn model_loading_timeouts_wait_indefinitely_for_the_first_byte() {
    let hour = secs(3_600);
    let script = after_request().wait(hour).stream_head().wait(hour);
    let script = script.chunk("loaded").last_chunk().stall();
    let upstream = Upstream::start([script]).await;
    let request = post(upstream.uri("/")).timeouts(Timeouts::for_model_loading());
    let stream = send_streaming(&transport(), request).await.unwrap();
    assert_eq!(drain(stream).await.0, b"loaded");
}

#[tokio::test(start_paused = true)]
async fn a_buffered_response_within_the_total_timeout_is_accepted() {
    let script = after_request()
        .wait(secs(599))
        .respond(200, "text/plain", "late");
    let upstream = Upstream::start([script.stall()]).await;
    let response = send_buffered(&transport(), post(upstream.uri("/"))).await;
    assert_eq!(response.unwrap(), "late");
}

#[tokio::test(start_paused = true)]
async fn a_buffered_response_is_limited_by_the_total_timeout() {
    let never = after_request().stream_head().chunk("x").stall();
    let ended = TimedOut::buffered(never, b"{}".to_vec()).await;
    assert_eq!(ended.expired, Expired(Timer::Total, 600));
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_hits_the_idle_timeout() {
    let script = after_request().stream_head().chunk("a").wait(secs(80));
    let script = script.chunk("b").wait(secs(80)).chunk("c");
    let upstream = Upstream::start([script.stall()]).await;
    let mut stream = send_streaming(&transport(), post(upstream.uri("/")))
        .await
        .unwrap();
    stream.event_received();
    let began = Instant::now();
    let (all, error) = drain(stream).await;
    assert_eq!(all, b"abc");
    let error = error.unwrap();
    assert_eq!(error.kind(), ErrorKind::Timeout(Timer::Idle), "{error}");
    assert_eq!(began.elapsed().as_secs(), 250);
    upstream.closed(0, SOON).await;
}

/// A stream of heartbeats, ten seconds apart.
fn pings(script: Script, seconds: usize) -> Script {
    (0..seconds / 10).fold(script, |script, _| {
        script.chunk(": ping\n\n").wait(secs(10))
    })
}

#[tokio::test(start_paused = true)]
async fn heartbeats_without_an_event_hit_the_first_event_timeout() {
    let ended = TimedOut::streaming(pings(after_request().stream_head(), 300)).await;
    assert_eq!(ended.expired, Expired(Timer::FirstEvent, 120));
}

#[tokio::test(start_paused = true)]
async fn heartbeats_without_a_further_event_hit_the_event_idle_timeout() {
    let upstream = Upstream::start([pings(after_request().stream_head(), 600)]).await;
    let mut stream = send_streaming(&transport(), post(upstream.uri("/")))
        .await
        .unwrap();
    stream.track_events();
    stream.event_received();
    let began = Instant::now();
    let error = drain(stream).await.1.unwrap();
    assert_eq!(
        error.kind(),
        ErrorKind::Timeout(Timer::EventIdle),
        "{error}"
    );
    assert_eq!(began.elapsed().as_secs(), 300);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_reads_hits_the_write_timeout() {
    let script = Script::new().read_head().wait(secs(40)).stall();
    let ended = TimedOut::buffered(script, vec![0; 20 * 1024 * 1024]).await;
    assert_eq!(ended.expired, Expired(Timer::Write, 30));
    ended.upstream.closed(0, secs(60)).await;
}
