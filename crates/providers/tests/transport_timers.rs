//! Every timer, in virtual time over real sockets.

mod asking;

use std::time::Duration;

use asking::{SOON, config, drain, post, stream, stream_error, transport, whole};
use majordomo_llm::{Error, ErrorKind, Timer};
use majordomo_providers::transport::{Outgoing, Timeouts, Transport};
use majordomo_testkit::{Script, Upstream};
use tokio::time::Instant;

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A server that has read the request.
fn asked() -> Script {
    Script::new().read_request()
}

/// Which timer ended an exchange, and after how many seconds.
#[derive(Debug, PartialEq, Eq)]
struct Expired(Timer, u64);

/// A server that plays this script, and how a call to it ended.
struct Ended {
    upstream: Upstream,
    error: Error,
    expired: Expired,
}

impl Ended {
    /// Asks for a stream, which must fail before its end.
    async fn stream(script: Script) -> Self {
        let upstream = Upstream::start([script]).await;
        let began = Instant::now();
        let error = stream_error(&transport(), post(upstream.uri("/"))).await;
        Self::new(upstream, began, error)
    }

    /// Asks for a whole answer with this body, which must fail.
    async fn whole(script: Script, body: Vec<u8>) -> Self {
        let upstream = Upstream::start([script]).await;
        let began = Instant::now();
        let request = Outgoing::post(upstream.uri("/"), body);
        let error = whole(&transport(), request).await.expect_err("a timer");
        Self::new(upstream, began, error)
    }

    fn new(upstream: Upstream, began: Instant, error: Error) -> Self {
        let ErrorKind::Timeout(timer) = error.kind() else {
            panic!("no timer: {error}");
        };
        Self {
            upstream,
            error,
            expired: Expired(timer, began.elapsed().as_secs()),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_unused_connection_is_closed_after_a_while() {
    let ok = asked().answer(200, "application/json", "{}");
    let upstream = Upstream::start([ok.stall()]).await;
    let transport = Transport::new(config().idle_connections(8, secs(20)));
    whole(&transport, post(upstream.uri("/"))).await.unwrap();
    let began = Instant::now();
    upstream.closed(0, secs(60)).await;
    let kept = began.elapsed();
    assert!(kept > secs(14) && kept < secs(26), "{kept:?}");
}

#[tokio::test(start_paused = true)]
async fn u08_a_head_that_never_comes_runs_into_the_first_byte_timer() {
    let ended = Ended::stream(asked().stall()).await;
    assert_eq!(ended.expired, Expired(Timer::FirstByte, 60));
    let address = ended.upstream.address();
    let expected =
        format!("{address} sent no byte of its answer within 60s (the first-byte timer)");
    assert_eq!(ended.error.to_string(), expected);
    ended.upstream.closed(0, Duration::from_millis(250)).await;
}

#[tokio::test(start_paused = true)]
async fn u09_a_head_that_drips_runs_into_the_same_timer() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n".repeat(4);
    let ended = Ended::stream(asked().drip(head, secs(1))).await;
    assert_eq!(ended.expired, Expired(Timer::FirstByte, 60));
}

#[tokio::test(start_paused = true)]
async fn a_head_without_a_body_runs_into_the_first_byte_timer_too() {
    let ended = Ended::stream(asked().stream_head().stall()).await;
    assert_eq!(ended.expired, Expired(Timer::FirstByte, 60));
}

#[tokio::test(start_paused = true)]
async fn a_late_head_does_not_give_the_first_byte_more_time() {
    let ended = Ended::stream(asked().wait(secs(40)).stream_head().stall()).await;
    assert_eq!(ended.expired, Expired(Timer::FirstByte, 60));
}

#[tokio::test(start_paused = true)]
async fn a_patient_request_waits_as_long_as_the_model_loads() {
    let hour = secs(3_600);
    let script = asked().wait(hour).stream_head().wait(hour);
    let script = script.chunk("loaded").last_chunk().stall();
    let upstream = Upstream::start([script]).await;
    let request = post(upstream.uri("/")).timeouts(Timeouts::patient());
    let stream = stream(&transport(), request).await.unwrap();
    assert_eq!(drain(stream).await.0, b"loaded");
}

#[tokio::test(start_paused = true)]
async fn a_whole_answer_that_comes_within_its_total_time_is_taken() {
    let script = asked().wait(secs(599)).answer(200, "text/plain", "late");
    let upstream = Upstream::start([script.stall()]).await;
    let answer = whole(&transport(), post(upstream.uri("/"))).await;
    assert_eq!(answer.unwrap(), "late");
}

#[tokio::test(start_paused = true)]
async fn a_whole_answer_has_only_its_total_time() {
    let never = asked().stream_head().chunk("x").stall();
    let ended = Ended::whole(never, b"{}".to_vec()).await;
    assert_eq!(ended.expired, Expired(Timer::Total, 600));
}

#[tokio::test(start_paused = true)]
async fn u33_a_stream_that_falls_silent_runs_into_the_idle_timer() {
    let script = asked().stream_head().chunk("a").wait(secs(80));
    let script = script.chunk("b").wait(secs(80)).chunk("c");
    let upstream = Upstream::start([script.stall()]).await;
    let mut stream = stream(&transport(), post(upstream.uri("/"))).await.unwrap();
    stream.event_seen();
    let began = Instant::now();
    let (all, error) = drain(stream).await;
    assert_eq!(all, b"abc");
    let error = error.unwrap();
    assert_eq!(error.kind(), ErrorKind::Timeout(Timer::Idle), "{error}");
    assert_eq!(began.elapsed().as_secs(), 250);
    upstream.closed(0, SOON).await;
}

/// A stream of nothing but signs of life, ten seconds apart.
fn pings(script: Script, seconds: usize) -> Script {
    (0..seconds / 10).fold(script, |script, _| {
        script.chunk(": ping\n\n").wait(secs(10))
    })
}

#[tokio::test(start_paused = true)]
async fn u34_bytes_without_an_event_run_into_the_first_event_timer() {
    let ended = Ended::stream(pings(asked().stream_head(), 300)).await;
    assert_eq!(ended.expired, Expired(Timer::FirstEvent, 120));
}

#[tokio::test(start_paused = true)]
async fn u34_bytes_without_a_further_event_run_into_the_event_idle_timer() {
    let upstream = Upstream::start([pings(asked().stream_head(), 600)]).await;
    let mut stream = stream(&transport(), post(upstream.uri("/"))).await.unwrap();
    stream.events_will_be_told();
    stream.event_seen();
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
async fn u40_a_server_that_never_reads_runs_into_the_write_timer() {
    let script = Script::new().read_head().wait(secs(40)).stall();
    let ended = Ended::whole(script, vec![0; 20 * 1024 * 1024]).await;
    assert_eq!(ended.expired, Expired(Timer::Write, 30));
    ended.upstream.closed(0, secs(60)).await;
}
