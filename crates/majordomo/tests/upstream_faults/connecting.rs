//! U-01 to U-09 and U-40 to U-45: before an answer has begun.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use majordomo::transport::{HttpVersions, Resolve, Timeouts};
use majordomo::{BoxFuture, Class, Request};
use majordomo_testkit::{Authority, BlackHole, ClosedPort, Http2Settings, Http2Upstream, Identity};
use majordomo_testkit::{Script, StreamStep, Upstream, frames};

use crate::stage::{After, FREE, HELLO, Head, RETRIED, SERVED, SOON, Stage, chunk, config, json};

const SHORT: Option<Duration> = Some(Duration::from_millis(100));

/// An untrusted server: not asked again for five minutes.
const UNTRUSTED: After = After {
    class: Some(Class::Tls),
    benched: Duration::from_secs(300),
    ..FREE
};

#[tokio::test]
async fn u01_a_refused_connection_is_tried_twice_and_the_next_target_serves() {
    let port = ClosedPort::hold();
    let stage = Head::at(format!("http://{}", port.address())).stage();
    assert_eq!(stage.ask().await, RETRIED);
}

#[tokio::test]
async fn u02_a_connection_that_nobody_answers_ends_with_the_connect_timer() {
    let hole = BlackHole::open();
    let hurried = Timeouts {
        connect: SHORT,
        ..Timeouts::default()
    };
    let stage = Head::at(format!("http://{}", hole.address())).timeouts(hurried);
    assert_eq!(stage.stage().ask().await, RETRIED);
}

/// A resolver that knows no names.
struct NoNames;

impl Resolve for NoNames {
    fn resolve(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        Box::pin(async { Err(io::Error::new(io::ErrorKind::NotFound, "no such name")) })
    }
}

#[tokio::test]
async fn u03_a_name_that_does_not_resolve_is_tried_twice_and_named_in_the_error() {
    let stage = Head::at("http://nowhere.example")
        .config(config().resolver(NoNames))
        .stage();
    assert_eq!(stage.ask().await, RETRIED);
    let alone = stage.chain("head/m").generate(Request::user("hi")).await;
    let error = alone.unwrap_err().to_string();
    assert!(error.contains("nowhere.example"), "{error}");
}

#[tokio::test]
async fn u04_a_certificate_that_is_not_trusted_benches_for_five_minutes_without_a_retry() {
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
        let stage = Head::at(upstream.secure_uri("")).config(config).stage();
        assert_eq!(stage.ask().await, UNTRUSTED, "{what}");
        assert_eq!(upstream.requests().len(), 0, "{what}: nothing was sent");
        assert_eq!(upstream.connections().len(), 1, "{what}: no retry");
    }
}

#[tokio::test]
async fn u04_a_server_without_tls_is_never_asked_in_the_clear() {
    let script = Script::new().read_bytes(1);
    let script = script.send("HTTP/1.1 400 Bad Request\r\n\r\n").stall();
    let upstream = Upstream::start([script]).await;
    let stage = Head::at(upstream.secure_uri("")).stage();
    assert_eq!(stage.ask().await, UNTRUSTED);
    assert_eq!(upstream.connections().len(), 1);
}

#[tokio::test]
async fn u04_a_handshake_that_stalls_ends_with_the_connect_timer() {
    let upstream = Upstream::start([Script::new().stall()]).await;
    let hurried = Timeouts {
        connect: SHORT,
        ..Timeouts::default()
    };
    let head = Head::at(upstream.secure_uri("")).timeouts(hurried);
    assert_eq!(head.stage().ask().await, RETRIED);
    upstream.closed(0, SOON).await;
}

#[tokio::test]
async fn u05_a_server_that_hangs_up_at_once_is_tried_twice() {
    let (upstream, stage) = Stage::playing([Script::new()]).await;
    assert_eq!(stage.ask().await, RETRIED);
    assert_eq!(upstream.connections().len(), 2);
}

#[tokio::test]
async fn u06_a_kept_connection_that_died_is_replaced_without_anybody_noticing() {
    let (upstream, stage) = Stage::playing([json(200, HELLO)]).await;
    for _ in 0..5 {
        assert_eq!(stage.ask().await, SERVED);
    }
    assert_eq!(upstream.requests().len(), 5);
}

#[tokio::test]
async fn u07_a_reset_after_the_request_is_tried_twice() {
    let (upstream, stage) = Stage::playing([Script::new().read_request().reset()]).await;
    assert_eq!(stage.ask().await, RETRIED);
    assert_eq!(upstream.requests().len(), 2);
}

fn hurried() -> Timeouts {
    Timeouts {
        first_byte: SHORT,
        total: SHORT,
        ..Timeouts::default()
    }
}

#[tokio::test]
async fn u08_an_answer_that_never_begins_ends_with_a_timer_and_a_closed_connection() {
    let script = Script::new().read_request();
    let script = script.expect_close(SOON);
    let upstream = Upstream::start([script]).await;
    let stage = Head::at(upstream.uri("")).timeouts(hurried()).stage();
    assert_eq!(stage.ask_for_a_stream().await, RETRIED);
    upstream.closed(1, SOON).await;
}

#[tokio::test]
async fn u09_an_answer_whose_head_drips_ends_with_the_same_timer() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let script = Script::new().read_request();
    let script = script.drip(head, Duration::from_millis(20));
    let upstream = Upstream::start([script]).await;
    let stage = Head::at(upstream.uri("")).timeouts(hurried()).stage();
    assert_eq!(stage.ask_for_a_stream().await, RETRIED);
    upstream.closed(1, SOON).await;
}

/// A prompt that fills every buffer between here and there.
fn long() -> Request {
    Request::user("word ".repeat(4 << 20))
}

#[tokio::test]
async fn u40_a_server_that_takes_no_bytes_ends_with_the_write_timer() {
    let upstream = Upstream::start([Script::new().wait(SOON)]).await;
    let timeouts = Timeouts {
        write: SHORT,
        ..Timeouts::default()
    };
    let stage = Head::at(upstream.uri("")).timeouts(timeouts).stage();
    let reply = stage.chain("head/m,tail/m").generate(long()).await;
    assert_eq!(stage.after(reply), RETRIED);
}

#[tokio::test]
async fn u41_a_refusal_that_comes_before_the_whole_request_was_sent_is_heard() {
    let body = r#"{"error":{"message":"too large","type":"invalid_request_error"}}"#;
    let script = Script::new()
        .read_head()
        .answer(413, "application/json", body)
        .stall();
    let (_upstream, stage) = Stage::playing([script]).await;
    let reply = stage.chain("head/m,tail/m").generate(long()).await;
    let expected = After {
        served_by: "nobody",
        class: Some(Class::Invalid),
        ..FREE
    };
    assert_eq!(stage.after(reply), expected);
}

fn answered() -> Vec<StreamStep> {
    vec![
        StreamStep::ReadBody,
        StreamStep::Head(200),
        StreamStep::Data(HELLO.into()),
        StreamStep::End,
    ]
}

async fn http2(streams: Vec<Vec<StreamStep>>) -> (Http2Upstream, Stage) {
    let upstream = Http2Upstream::start(Http2Settings::default(), streams).await;
    let stage = over_http2(upstream.uri("")).stage();
    (upstream, stage)
}

fn over_http2(url: impl ToString) -> Head {
    Head::at(url).config(config().http_versions(HttpVersions::Http2))
}

#[tokio::test]
async fn u42_a_refused_stream_is_sent_again_for_free() {
    let refused = vec![StreamStep::Reset(h2::Reason::REFUSED_STREAM)];
    let (upstream, stage) = http2(vec![refused, answered()]).await;
    let after = stage.ask().await;
    assert_eq!((after.served_by, after.failures), ("head/m", 0));
    assert_eq!(after.benched, Duration::ZERO);
    upstream.asked(2, SOON).await;
}

#[tokio::test]
async fn u42_a_stream_that_came_after_the_goodbye_is_sent_again_for_free() {
    let asked = || Script::new().send(frames::settings());
    let leaving = asked().read_frame(frames::HEADERS);
    let leaving = leaving.send(frames::go_away(0, 0)).stall();
    let serving = asked()
        .send(frames::settings_ack())
        .read_frame(frames::DATA)
        .send(frames::ok(1))
        .send(frames::data(1, HELLO.as_bytes(), true))
        .stall();
    let upstream = Upstream::start([leaving, serving]).await;
    let stage = over_http2(upstream.uri("")).stage();
    let after = stage.ask().await;
    assert_eq!((after.served_by, after.failures), ("head/m", 0));
    assert_eq!(after.benched, Duration::ZERO);
}

#[tokio::test]
async fn u43_a_graceful_goodbye_lets_the_answer_end_and_the_next_one_comes_elsewhere() {
    let mut leaving = answered();
    leaving.insert(1, StreamStep::GoAway);
    let (upstream, stage) = http2(vec![leaving, answered()]).await;
    assert_eq!(stage.ask().await, SERVED);
    assert_eq!(stage.ask().await, SERVED);
    upstream.asked(2, SOON).await;
}

#[tokio::test]
async fn u44_a_stream_that_is_reset_before_its_answer_is_tried_twice() {
    let reset = vec![StreamStep::Reset(h2::Reason::INTERNAL_ERROR)];
    let (upstream, stage) = http2(vec![reset]).await;
    assert_eq!(stage.ask().await, RETRIED);
    upstream.asked(2, SOON).await;
}

#[tokio::test(start_paused = true)]
async fn u44_a_stream_that_is_reset_after_its_first_word_is_the_callers() {
    let reset = vec![
        StreamStep::ReadBody,
        StreamStep::Head(200),
        StreamStep::Data(chunk(r#"{"content":"hel"}"#).into()),
        // A reset overtakes what was not read before it.
        StreamStep::Wait(Duration::from_secs(1)),
        StreamStep::Reset(h2::Reason::INTERNAL_ERROR),
    ];
    let (_upstream, stage) = http2(vec![reset]).await;
    let error = stage.open().await.unwrap().finish().await.unwrap_err();
    assert_eq!(error.class(), Class::Transient, "{error}");
    assert_eq!(error.partial().unwrap().text(), "hel");
    assert_eq!((stage.failures(), stage.tail.call_count("m")), (1, 0));
}

#[tokio::test]
async fn u45_a_window_that_never_opens_ends_with_the_write_timer() {
    let settings = Http2Settings {
        stream_window: Some(0),
        ..Http2Settings::default()
    };
    let upstream = Http2Upstream::start(settings, [vec![StreamStep::Stall]]).await;
    let timeouts = Timeouts {
        write: SHORT,
        ..Timeouts::default()
    };
    let stage = over_http2(upstream.uri("")).timeouts(timeouts).stage();
    let reply = stage.chain("head/m,tail/m").generate(long()).await;
    assert_eq!(stage.after(reply), RETRIED);
}

#[tokio::test]
async fn u45_a_server_that_takes_one_stream_at_a_time_serves_a_hundred() {
    let settings = Http2Settings {
        most_streams: Some(1),
        ..Http2Settings::default()
    };
    let upstream = Http2Upstream::start(settings, [answered()]).await;
    let stage = over_http2(upstream.uri("")).stage();
    assert_eq!(stage.ask().await, SERVED);
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let chain = stage.chain("head/m,tail/m");
        asking.spawn(async move { chain.generate(Request::user("hi")).await });
    }
    for reply in asking.join_all().await {
        assert_eq!(stage.after(reply), SERVED);
    }
}

/// The transport's own test has the twenty seconds; this is what they mean here.
#[tokio::test(start_paused = true)]
async fn u45_a_ping_without_an_answer_ends_the_stream_of_a_dead_connection() {
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
    let stage = over_http2(upstream.uri("")).stage();
    let error = stage.open().await.unwrap().finish().await.unwrap_err();
    assert_eq!(error.class(), Class::Transient, "{error}");
    assert_eq!(error.partial().unwrap().text(), "hel");
    upstream.closed(0, SOON).await;
}
