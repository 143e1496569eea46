//! Every timer, in virtual time over real sockets.

mod asking;

use std::time::Duration;

use asking::{SOON, config, drain, post, stream, stream_error, transport, whole};
use majordomo_llm::{ErrorKind, Timer};
use majordomo_providers::transport::{Outgoing, Timeouts, Transport};
use majordomo_testkit::{Script, Upstream};
use tokio::time::Instant;

fn ok() -> Script {
    Script::new()
        .read_request()
        .answer(200, "application/json", "{}")
}

#[tokio::test(start_paused = true)]
async fn an_unused_connection_is_closed_after_a_while() {
    let upstream = Upstream::start([ok().stall()]).await;
    let transport = Transport::new(config().idle_connections(8, Duration::from_secs(20)));
    whole(&transport, post(upstream.uri("/"))).await.unwrap();
    let began = Instant::now();
    upstream.closed(0, Duration::from_secs(60)).await;
    let kept = began.elapsed();
    assert!(
        kept > Duration::from_secs(14) && kept < Duration::from_secs(26),
        "{kept:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn u08_a_head_that_never_comes_runs_into_the_first_byte_timer() {
    let upstream = Upstream::start([Script::new().read_request().stall()]).await;
    let began = Instant::now();
    let error = stream_error(&transport(), post(upstream.uri("/"))).await;
    assert_eq!(error.kind(), ErrorKind::Timeout(Timer::FirstByte));
    assert_eq!(began.elapsed().as_secs(), 60);
    let address = upstream.address();
    let expected =
        format!("{address} sent no byte of its answer within 60s (the first-byte timer)");
    assert_eq!(error.to_string(), expected);
    upstream.closed(0, Duration::from_millis(250)).await;
}

#[tokio::test(start_paused = true)]
async fn u09_a_head_that_drips_runs_into_the_same_timer() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n".repeat(4);
    let drip = Script::new()
        .read_request()
        .drip(head, Duration::from_secs(1));
    let upstream = Upstream::start([drip]).await;
    let began = Instant::now();
    let error = stream_error(&transport(), post(upstream.uri("/"))).await;
    assert_eq!(
        error.kind(),
        ErrorKind::Timeout(Timer::FirstByte),
        "{error}"
    );
    assert_eq!(began.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_head_without_a_body_runs_into_the_first_byte_timer_too() {
    let script = Script::new().read_request().stream_head().stall();
    let upstream = Upstream::start([script]).await;
    let began = Instant::now();
    let error = stream_error(&transport(), post(upstream.uri("/"))).await;
    assert_eq!(
        error.kind(),
        ErrorKind::Timeout(Timer::FirstByte),
        "{error}"
    );
    assert_eq!(began.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_late_head_does_not_give_the_first_byte_more_time() {
    let script = Script::new().read_request().wait(Duration::from_secs(40));
    let upstream = Upstream::start([script.stream_head().stall()]).await;
    let began = Instant::now();
    let error = stream_error(&transport(), post(upstream.uri("/"))).await;
    assert_eq!(
        error.kind(),
        ErrorKind::Timeout(Timer::FirstByte),
        "{error}"
    );
    assert_eq!(began.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_patient_request_waits_as_long_as_the_model_loads() {
    let hour = Duration::from_secs(3_600);
    let script = Script::new()
        .read_request()
        .wait(hour)
        .stream_head()
        .wait(hour);
    let script = script.chunk("loaded").last_chunk().stall();
    let upstream = Upstream::start([script]).await;
    let request = post(upstream.uri("/")).timeouts(Timeouts::patient());
    let stream = stream(&transport(), request).await.unwrap();
    assert_eq!(drain(stream).await.0, b"loaded");
}

#[tokio::test(start_paused = true)]
async fn a_whole_answer_has_only_its_total_time() {
    let script = Script::new().read_request().wait(Duration::from_secs(599));
    let script = script.answer(200, "text/plain", "late").stall();
    let never = Script::new()
        .read_request()
        .stream_head()
        .chunk("x")
        .stall();
    let upstream = Upstream::start([script, never]).await;
    let transport = Transport::new(config().idle_connections(0, SOON));
    assert_eq!(
        whole(&transport, post(upstream.uri("/"))).await.unwrap(),
        "late"
    );
    let began = Instant::now();
    let error = whole(&transport, post(upstream.uri("/")))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout(Timer::Total));
    assert_eq!(began.elapsed().as_secs(), 600);
}

#[tokio::test(start_paused = true)]
async fn u33_a_stream_that_falls_silent_runs_into_the_idle_timer() {
    let script = Script::new().read_request().stream_head();
    let pause = Duration::from_secs(80);
    let script = script
        .chunk("a")
        .wait(pause)
        .chunk("b")
        .wait(pause)
        .chunk("c");
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

#[tokio::test(start_paused = true)]
async fn bytes_without_an_event_run_into_the_first_event_timer() {
    let mut script = Script::new().read_request().stream_head();
    for _ in 0..30 {
        script = script.chunk(": ping\n\n").wait(Duration::from_secs(10));
    }
    let upstream = Upstream::start([script]).await;
    let began = Instant::now();
    let error = stream_error(&transport(), post(upstream.uri("/"))).await;
    assert_eq!(
        error.kind(),
        ErrorKind::Timeout(Timer::FirstEvent),
        "{error}"
    );
    assert_eq!(began.elapsed().as_secs(), 120);
}

#[tokio::test(start_paused = true)]
async fn u40_a_server_that_never_reads_runs_into_the_write_timer() {
    let script = Script::new().read_head().wait(Duration::from_secs(40));
    let upstream = Upstream::start([script.stall()]).await;
    let request = Outgoing::post(upstream.uri("/"), vec![0u8; 20 * 1024 * 1024]);
    let began = Instant::now();
    let error = whole(&transport(), request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout(Timer::Write), "{error}");
    assert_eq!(began.elapsed().as_secs(), 30);
    upstream.closed(0, Duration::from_secs(60)).await;
}
