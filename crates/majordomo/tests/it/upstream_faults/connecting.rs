//! Faults before a response has started: connecting, TLS, sending, HTTP/2.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use majordomo::transport::{HttpVersions, Resolve, Timeouts};
use majordomo::{BoxFuture, Class, Request};
use majordomo_testkit::{Authority, BlackHole, ClosedPort, Http2Settings, Http2Upstream, Identity};
use majordomo_testkit::{Script, StreamStep, Upstream, frames};

use super::harness::{
    After, FREE, FaultHarness, HELLO, Head, RETRIED, SERVED, SOON, chunk, config, json,
};

const SHORT: Option<Duration> = Some(Duration::from_millis(100));

/// An untrusted server: not called again for five minutes.
const UNTRUSTED: After = After {
    class: Some(Class::Tls),
    benched: Duration::from_secs(300),
    ..FREE
};

#[tokio::test]
async fn a_refused_connection_is_retried_once_and_the_next_target_serves() {
    let port = ClosedPort::hold();
    let harness = Head::at(format!("http://{}", port.address())).harness();
    assert_eq!(harness.send().await, RETRIED);
}

#[tokio::test]
async fn an_unanswered_connection_ends_with_the_connect_timeout() {
    let hole = BlackHole::open();
    let short_timeouts = Timeouts::default().with_connect(SHORT);
    let harness = Head::at(format!("http://{}", hole.address())).timeouts(short_timeouts);
    assert_eq!(harness.harness().send().await, RETRIED);
}

/// A resolver that resolves no name.
struct NoNames;

impl Resolve for NoNames {
    fn resolve(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        Box::pin(async { Err(io::Error::new(io::ErrorKind::NotFound, "no such name")) })
    }
}

#[tokio::test]
async fn an_unresolvable_name_is_retried_once_and_named_in_the_error() {
    let harness = Head::at("http://nowhere.example")
        .config(config().resolver(NoNames))
        .harness();
    assert_eq!(harness.send().await, RETRIED);
    let alone = harness.chain("head/m").generate(Request::user("hi")).await;
    let error = alone.unwrap_err().to_string();
    assert!(error.contains("nowhere.example"), "{error}");
}

#[tokio::test]
async fn an_untrusted_certificate_benches_for_five_minutes_without_a_retry() {
    let authority = Authority::new();
    let identities = [
        ("expired", authority.issue_expired("localhost")),
        ("of another host", authority.issue("other.example")),
        ("self-signed", Identity::self_signed("localhost")),
        ("of a stranger", Authority::new().issue("localhost")),
    ];
    for (what, identity) in identities {
        let script = Script::new().start_tls(&identity).read_request().stall();
        let upstream = Upstream::start([script]).await;
        let config = config().trust(authority.root());
        let harness = Head::at(upstream.secure_uri("")).config(config).harness();
        assert_eq!(harness.send().await, UNTRUSTED, "{what}");
        assert_eq!(upstream.requests().len(), 0, "{what}: nothing was sent");
        assert_eq!(upstream.connections().len(), 1, "{what}: no retry");
    }
}

#[tokio::test]
async fn a_server_without_tls_receives_no_plaintext_request() {
    let script = Script::new().read_bytes(1);
    let script = script.send("HTTP/1.1 400 Bad Request\r\n\r\n").stall();
    let upstream = Upstream::start([script]).await;
    let harness = Head::at(upstream.secure_uri("")).harness();
    assert_eq!(harness.send().await, UNTRUSTED);
    assert_eq!(upstream.connections().len(), 1);
}

#[tokio::test]
async fn a_stalled_tls_handshake_ends_with_the_connect_timeout() {
    let upstream = Upstream::start([Script::new().stall()]).await;
    let short_timeouts = Timeouts::default().with_connect(SHORT);
    let head = Head::at(upstream.secure_uri("")).timeouts(short_timeouts);
    assert_eq!(head.harness().send().await, RETRIED);
    upstream.closed(0, SOON).await;
}

#[tokio::test]
async fn a_connection_closed_after_accept_is_retried_once() {
    let (upstream, harness) = FaultHarness::playing([Script::new()]).await;
    assert_eq!(harness.send().await, RETRIED);
    assert_eq!(upstream.connections().len(), 2);
}

#[tokio::test]
async fn a_dead_pooled_connection_is_replaced_silently() {
    let (upstream, harness) = FaultHarness::playing([json(200, HELLO)]).await;
    for _ in 0..5 {
        assert_eq!(harness.send().await, SERVED);
    }
    assert_eq!(upstream.requests().len(), 5);
}

#[tokio::test]
async fn a_reset_after_the_request_is_retried_once() {
    let (upstream, harness) = FaultHarness::playing([Script::new().read_request().reset()]).await;
    assert_eq!(harness.send().await, RETRIED);
    assert_eq!(upstream.requests().len(), 2);
}

fn short_timeouts() -> Timeouts {
    Timeouts::default().with_first_byte(SHORT).with_total(SHORT)
}

#[tokio::test]
async fn a_response_that_never_starts_times_out_and_closes_the_connection() {
    let script = Script::new().read_request();
    let script = script.expect_close(SOON);
    let upstream = Upstream::start([script]).await;
    let harness = Head::at(upstream.uri(""))
        .timeouts(short_timeouts())
        .harness();
    assert_eq!(harness.send_streaming().await, RETRIED);
    upstream.closed(1, SOON).await;
}

#[tokio::test]
async fn a_response_whose_header_drips_times_out() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let script = Script::new().read_request();
    let script = script.drip(head, Duration::from_millis(20));
    let upstream = Upstream::start([script]).await;
    let harness = Head::at(upstream.uri(""))
        .timeouts(short_timeouts())
        .harness();
    assert_eq!(harness.send_streaming().await, RETRIED);
    upstream.closed(1, SOON).await;
}

/// A prompt that fills every buffer on the way.
fn long() -> Request {
    Request::user("word ".repeat(4 << 20))
}

#[tokio::test]
async fn a_server_that_reads_nothing_ends_with_the_write_timeout() {
    let upstream = Upstream::start([Script::new().wait(SOON)]).await;
    let timeouts = Timeouts::default().with_write(SHORT);
    let harness = Head::at(upstream.uri("")).timeouts(timeouts).harness();
    let reply = harness.chain("head/m,tail/m").generate(long()).await;
    assert_eq!(harness.after(reply), RETRIED);
}

#[tokio::test]
async fn an_error_response_before_the_request_is_fully_sent_is_read() {
    let body = r#"{"error":{"message":"too large","type":"invalid_request_error"}}"#;
    let script = Script::new()
        .read_head()
        .respond(413, "application/json", body)
        .stall();
    let (_upstream, harness) = FaultHarness::playing([script]).await;
    let reply = harness.chain("head/m,tail/m").generate(long()).await;
    let expected = After {
        served_by: "none",
        class: Some(Class::Invalid),
        ..FREE
    };
    assert_eq!(harness.after(reply), expected);
}

fn answered() -> Vec<StreamStep> {
    vec![
        StreamStep::ReadBody,
        StreamStep::Head(200),
        StreamStep::Data(HELLO.into()),
        StreamStep::End,
    ]
}

async fn http2(streams: Vec<Vec<StreamStep>>) -> (Http2Upstream, FaultHarness) {
    let upstream = Http2Upstream::start(Http2Settings::default(), streams).await;
    let harness = over_http2(upstream.uri("")).harness();
    (upstream, harness)
}

fn over_http2(url: impl ToString) -> Head {
    Head::at(url).config(config().http_versions(HttpVersions::Http2))
}

#[tokio::test]
async fn a_refused_http2_stream_is_retried_for_free() {
    let refused = vec![StreamStep::Reset(h2::Reason::REFUSED_STREAM)];
    let (upstream, harness) = http2(vec![refused, answered()]).await;
    let after = harness.send().await;
    assert_eq!((after.served_by, after.failures), ("head/m", 0));
    assert_eq!(after.benched, Duration::ZERO);
    upstream.wait_for_requests(2, SOON).await;
}

#[tokio::test]
async fn a_stream_above_the_goaway_id_is_retried_for_free() {
    let begin = || Script::new().send(frames::settings());
    let leaving = begin().read_frame(frames::HEADERS);
    let leaving = leaving.send(frames::go_away(0, 0)).stall();
    let serving = begin()
        .send(frames::settings_ack())
        .read_frame(frames::DATA)
        .send(frames::ok(1))
        .send(frames::data(1, HELLO.as_bytes(), true))
        .stall();
    let upstream = Upstream::start([leaving, serving]).await;
    let harness = over_http2(upstream.uri("")).harness();
    let after = harness.send().await;
    assert_eq!((after.served_by, after.failures), ("head/m", 0));
    assert_eq!(after.benched, Duration::ZERO);
}

#[tokio::test]
async fn after_a_graceful_goaway_the_response_completes_and_the_next_request_reconnects() {
    let mut leaving = answered();
    leaving.insert(1, StreamStep::GoAway);
    let (upstream, harness) = http2(vec![leaving, answered()]).await;
    assert_eq!(harness.send().await, SERVED);
    assert_eq!(harness.send().await, SERVED);
    upstream.wait_for_requests(2, SOON).await;
}

#[tokio::test]
async fn an_http2_stream_reset_before_its_response_is_retried_once() {
    let reset = vec![StreamStep::Reset(h2::Reason::INTERNAL_ERROR)];
    let (upstream, harness) = http2(vec![reset]).await;
    assert_eq!(harness.send().await, RETRIED);
    upstream.wait_for_requests(2, SOON).await;
}

#[tokio::test(start_paused = true)]
async fn an_http2_stream_reset_after_its_first_text_is_reported_to_the_caller() {
    let reset = vec![
        StreamStep::ReadBody,
        StreamStep::Head(200),
        StreamStep::Data(chunk(r#"{"content":"hel"}"#).into()),
        // A reset overtakes data that was not read before it.
        StreamStep::Wait(Duration::from_secs(1)),
        StreamStep::Reset(h2::Reason::INTERNAL_ERROR),
    ];
    let (_upstream, harness) = http2(vec![reset]).await;
    let error = harness.open().await.unwrap().finish().await.unwrap_err();
    assert_eq!(error.class(), Class::Transient, "{error}");
    assert_eq!(error.partial().unwrap().text(), "hel");
    assert_eq!((harness.failures(), harness.tail.call_count("m")), (1, 0));
}

#[tokio::test]
async fn an_http2_window_that_never_opens_ends_with_the_write_timeout() {
    let settings = Http2Settings {
        stream_window: Some(0),
        ..Http2Settings::default()
    };
    let upstream = Http2Upstream::start(settings, [vec![StreamStep::Stall]]).await;
    let timeouts = Timeouts::default().with_write(SHORT);
    let harness = over_http2(upstream.uri("")).timeouts(timeouts).harness();
    let reply = harness.chain("head/m,tail/m").generate(long()).await;
    assert_eq!(harness.after(reply), RETRIED);
}

#[tokio::test]
async fn a_server_with_one_concurrent_stream_serves_a_hundred_requests() {
    let settings = Http2Settings {
        most_streams: Some(1),
        ..Http2Settings::default()
    };
    let upstream = Http2Upstream::start(settings, [answered()]).await;
    let harness = over_http2(upstream.uri("")).harness();
    assert_eq!(harness.send().await, SERVED);
    let mut in_flight = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let chain = harness.chain("head/m,tail/m");
        in_flight.spawn(async move { chain.generate(Request::user("hi")).await });
    }
    for reply in in_flight.join_all().await {
        assert_eq!(harness.after(reply), SERVED);
    }
}

/// The timing itself is tested with the transport; this is its effect on a chain.
#[tokio::test(start_paused = true)]
async fn an_unanswered_ping_ends_the_streams_of_a_dead_connection() {
    let script = Script::new()
        .send(frames::settings())
        .send(frames::settings_ack())
        .read_frame(frames::DATA)
        .send(frames::ok(1))
        .send(frames::data(
            1,
            chunk(r#"{"content":"hel"}"#).as_bytes(),
            false,
        ));
    let upstream = Upstream::start([script.stall()]).await;
    let harness = over_http2(upstream.uri("")).harness();
    let error = harness.open().await.unwrap().finish().await.unwrap_err();
    assert_eq!(error.class(), Class::Transient, "{error}");
    assert_eq!(error.partial().unwrap().text(), "hel");
    upstream.closed(0, SOON).await;
}
