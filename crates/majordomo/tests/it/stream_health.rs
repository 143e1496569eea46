//! Streams: health, deadlines and tool calls.

use crate::support::{Fixture, pass, secs, status, status_after};
use majordomo::fake::{Beat, Step};
use majordomo::{
    Capabilities, Error, ErrorKind, Event, FinishReason, Message, Part, Request, ResponseStream,
    StreamItem, ToolCall,
};
use tokio::time::Instant;

fn text(text: &str) -> Event {
    Event::Text(text.to_owned())
}

fn finish() -> Beat {
    Beat::Event(Event::Finish(FinishReason::Stop))
}

/// A stream of `fp/a`, which has one failure, after its first text.
async fn begun(fixture: &Fixture, rest: Step) -> ResponseStream {
    fixture.script("a", [status(500), rest]);
    let mut stream = fixture
        .chain("fp/a")
        .stream(Request::user("hi"))
        .await
        .expect("it begins");
    let first = stream.next().await.expect("an item").expect("no error");
    assert!(matches!(first, StreamItem::Text(_)));
    stream
}

fn hello() -> Step {
    Step::events([text("hello")])
}

#[tokio::test(start_paused = true)]
async fn a_stream_succeeds_only_at_its_finish() {
    let fixture = Fixture::new();
    let mut stream = begun(&fixture, hello().then(finish())).await;
    assert_eq!(fixture.health("fp/a").failures, 1, "not yet");
    stream.next().await.unwrap().unwrap();
    assert_eq!(fixture.health("fp/a").failures, 0);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_counts_as_a_failure() {
    let fixture = Fixture::new();
    let broken = Beat::Fail(Error::http(500, "broke"));
    let stream = begun(&fixture, hello().then(broken)).await;
    stream.finish().await.unwrap_err();
    assert_eq!(fixture.benched_secs("fp/a"), 5, "the second in a row");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_stream_counts_neither_way() {
    let fixture = Fixture::new();
    let stream = begun(&fixture, hello().then(Beat::Hang)).await;
    drop(stream);
    assert_eq!(fixture.health("fp/a").failures, 1);
    assert_eq!(fixture.benched_secs("fp/a"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stream_dropped_just_before_its_finish_counts_neither_way() {
    let fixture = Fixture::new();
    let stream = begun(&fixture, hello().then(finish())).await;
    drop(stream);
    assert_eq!(fixture.health("fp/a").failures, 1);
}

#[tokio::test(start_paused = true)]
async fn throttling_in_the_middle_of_a_stream_benches_for_its_retry_after() {
    let fixture = Fixture::new();
    let throttled = Error::http(429, "slow down").with_retry_after(Some(secs(40)));
    let stream = begun(&fixture, hello().then(Beat::Fail(throttled))).await;
    stream.finish().await.unwrap_err();
    assert_eq!(fixture.benched_secs("fp/a"), 40);
    assert_eq!(fixture.health("fp/a").failures, 1, "nothing was counted");
}

#[tokio::test(start_paused = true)]
async fn a_permanent_error_in_the_middle_of_a_stream_carries_no_penalty() {
    let fixture = Fixture::new();
    let policy = Error::http(200, "filtered").with_code("content_filter");
    let stream = begun(&fixture, hello().then(Beat::Fail(policy))).await;
    stream.finish().await.unwrap_err();
    assert_eq!(fixture.health("fp/a").failures, 1);
    assert_eq!(fixture.benched_secs("fp/a"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_probes_committed_stream_readmits_other_requests() {
    let fixture = Fixture::new();
    fixture.script("a", [status(500), status(500), hello().then(Beat::Hang)]);
    fixture.send("fp/a,fp/b").await.unwrap();
    pass(5).await;

    let stream = fixture.chain("fp/a").stream(Request::user("hi")).await;

    assert!(!fixture.health("fp/a").probing);
    assert_eq!(fixture.served_by("fp/a,fp/b").await, "fp/a");
    drop(stream);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_a_stream_with_its_partial_text_without_penalty() {
    let fixture = Fixture::new();
    fixture.script("a", [hello().then(Beat::Hang)]);
    let began = Instant::now();
    let request = Request::user("hi").timeout(secs(3));
    let mut stream = fixture.chain("fp/a,fp/b").stream(request).await.unwrap();
    stream.next().await.unwrap().unwrap();

    let error = stream.next().await.unwrap().unwrap_err();

    assert_eq!(error.kind(), ErrorKind::Deadline);
    assert_eq!(error.partial().unwrap().text(), "hello");
    assert_eq!(began.elapsed(), secs(3));
    assert!(stream.next().await.is_none());
    assert!(fixture.is_healthy("fp/a"));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_a_stream_that_never_starts() {
    let fixture = Fixture::new();
    fixture.script("a", [Step::hang()]);
    let request = Request::user("hi").timeout(secs(3));
    let error = fixture
        .chain("fp/a,fp/b")
        .stream(request)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadline);
    assert_eq!(fixture.calls(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_stream_within_the_deadline_completes() {
    let fixture = Fixture::new();
    let wait = || Beat::Wait(secs(1));
    fixture.script("a", [hello().then(wait()).then(wait()).then(finish())]);
    let request = Request::user("hi").timeout(secs(3));
    let stream = fixture.chain("fp/a").stream(request).await.unwrap();
    assert_eq!(stream.finish().await.unwrap().text(), "hello");
}

#[tokio::test(start_paused = true)]
async fn cancelling_before_the_commit_point_counts_neither_way() {
    let fixture = Fixture::new();
    fixture.script("a", [Step::hang()]);
    let chain = fixture.chain("fp/a,fp/b");
    let left = tokio::time::timeout(secs(1), chain.stream(Request::user("hi"))).await;
    assert!(left.is_err());
    pass(60).await;
    assert!(fixture.is_healthy("fp/a"));
    assert_eq!(fixture.calls(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn tool_calls_are_delivered_whole_in_order_of_completion() {
    let started = |index, id: Option<&str>, name: &str| Event::ToolCallStart {
        index,
        id: id.map(str::to_owned),
        name: name.to_owned(),
        native: None,
    };
    let fragment = |index, text: &str| Event::ToolCallArguments {
        index,
        fragment: text.to_owned(),
    };
    let fixture = Fixture::new();
    fixture.script(
        "a",
        [Step::events([
            started(0, Some("x"), "add"),
            fragment(0, r#"{"a":"#),
            started(1, None, "look"),
            fragment(1, "{}"),
            Event::ToolCallEnd { index: 1 },
            fragment(0, "1}"),
            Event::ToolCallEnd { index: 0 },
            Event::Finish(FinishReason::ToolCalls),
        ])],
    );
    let earlier = ToolCall::new("call_4", "look", "{}");
    let request = Request::user("hi").message(Message::assistant(Part::ToolCall(earlier)));
    let mut stream = fixture.chain("fp/a").stream(request).await.unwrap();

    let mut calls = Vec::new();
    while let Some(item) = stream.next().await {
        if let StreamItem::ToolCall(call) = item.unwrap() {
            calls.push((call.id, call.arguments));
        }
    }

    let expected = [("call_6", "{}"), ("x", r#"{"a":1}"#)];
    let expected = expected.map(|(id, arguments)| (id.to_owned(), arguments.to_owned()));
    assert_eq!(calls, expected);
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_tool_call_is_never_delivered_as_whole() {
    let fixture = Fixture::new();
    let start = Event::ToolCallStart {
        index: 0,
        id: Some("x".into()),
        name: "add".into(),
        native: None,
    };
    let fragment = Event::ToolCallArguments {
        index: 0,
        fragment: r#"{"a":"#.into(),
    };
    fixture.script("a", [Step::events([start, fragment])]);
    let mut stream = fixture
        .chain("fp/a,fp/b")
        .stream(Request::user("hi"))
        .await
        .unwrap();
    let first = stream.next().await.unwrap();
    assert!(first.is_err(), "{first:?}");
}

#[tokio::test(start_paused = true)]
async fn a_throttled_stream_sends_the_next_request_elsewhere() {
    let fixture = Fixture::new();
    fixture.script("a", [status_after(529, 30)]);
    let chain = fixture.chain("fp/a,fp/b");
    chain
        .stream(Request::user("hi"))
        .await
        .unwrap()
        .finish()
        .await
        .unwrap();
    assert_eq!(fixture.served_by("fp/a,fp/b").await, "fp/b");
    assert_eq!(fixture.fp.call_count("a"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_probes_stream_that_breaks_benches_again_at_once_and_for_longer() {
    let fixture = Fixture::new();
    fixture.script("a", [status(500), status(500)]);
    fixture.refused("fp/a").await;
    pass(5).await;
    let broken = Beat::Fail(Error::http(500, "broke"));
    fixture.script("a", [hello().then(broken)]);
    let stream = fixture
        .chain("fp/a")
        .stream(Request::user("hi"))
        .await
        .unwrap();
    assert!(fixture.health("fp/a").on_trial);
    stream.finish().await.unwrap_err();
    assert_eq!(fixture.benched_secs("fp/a"), 10);
}

#[tokio::test(start_paused = true)]
async fn a_target_that_cannot_stream_serves_a_stream_from_a_whole_response() {
    let fixture = Fixture::new();
    fixture
        .fp
        .set_capabilities(Capabilities::default().with_streaming(false));
    fixture.script("a", [Step::reply("whole")]);
    let stream = fixture
        .chain("fp/a")
        .stream(Request::user("hi"))
        .await
        .unwrap();
    assert_eq!(stream.finish().await.unwrap().text(), "whole");
    assert!(!fixture.fp.calls()[0].streamed);

    fixture.script("a", [Step::empty()]);
    let error = fixture
        .chain("fp/a")
        .stream(Request::user("hi"))
        .await
        .unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::Exhausted,
        "an empty answer is none"
    );
}
