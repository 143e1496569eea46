//! The report that a gate gets at an attempt's end.

use std::future::poll_fn;

use majordomo::chain::{AttemptEnd, ForwardedStream};
use majordomo::fake::{Beat, Step};
use majordomo::llm::RawChunkStream;
use majordomo::{Class, Error, Event, FinishReason, Part, Request, Response, Usage};

use super::books::{Ruling, TestGate};
use super::stepwise::{DIALECT, stepwise};
use crate::support::{Fixture, drain, next, status};

/// A stream with an opening usage, ten words and a final usage.
fn stream() -> Vec<Event> {
    vec![
        Event::Start {
            id: None,
            model: None,
        },
        Event::Usage(Usage::new(100, 1)),
        Event::Text("one two three four five".into()),
        Event::Text(" six seven eight nine ten".into()),
        Event::Usage(Usage::new(100, 12)),
        Event::Finish(FinishReason::Stop),
    ]
}

async fn next_chunk(chunks: &mut RawChunkStream) -> bool {
    let chunk = poll_fn(|cx| chunks.as_mut().poll_next(cx)).await;
    matches!(chunk, Some(Ok(_)))
}

#[tokio::test(start_paused = true)]
async fn a_served_response_settles_with_the_reported_usage() {
    let fixture = Fixture::new();
    let mut response = Response::new(vec![Part::text("hello")]);
    response.usage = Usage::new(7, 2);
    fixture.script("a", [Step::respond(response)]);
    let (gate, books) = TestGate::new(|_| Ruling::Admit);
    let chain = fixture.chain("fp/a").gated_by(gate);
    chain.generate(Request::user("hi")).await.expect("served");
    let report = books.reports()[0];
    assert_eq!(report.end, AttemptEnd::Served);
    assert_eq!(report.reported, Some(Usage::new(7, 2)));
}

#[tokio::test(start_paused = true)]
async fn a_response_without_a_report_is_counted() {
    let fixture = Fixture::new();
    let response = Response::new(vec![Part::text("one two three four five")]);
    fixture.script("a", [Step::respond(response)]);
    let (gate, books) = TestGate::new(|_| Ruling::Admit);
    let chain = fixture.chain("fp/a").gated_by(gate);
    chain.generate(Request::user("hi")).await.expect("served");
    let report = books.reports()[0];
    assert_eq!((report.reported, report.unreported_tokens), (None, 5));
}

#[tokio::test(start_paused = true)]
async fn a_finished_stream_settles_with_its_last_report() {
    for raw in [false, true] {
        let fixture = Fixture::new();
        fixture.script("a", [Step::events(stream())]);
        let (gate, books) = TestGate::new(|_| Ruling::Admit);
        let chain = stepwise(&fixture.chain("fp/a")).gated_by(gate);
        let request = Request::user("hi");
        if raw {
            let open = chain.forward(request, DIALECT).await.expect("served");
            let ForwardedStream::Pieces(mut chunks) = open.stream else {
                panic!("raw bytes");
            };
            while next_chunk(&mut chunks).await {}
        } else {
            let mut open = chain.open(request).await.expect("served");
            drain(&mut open.events).await;
        }
        let report = books.reports()[0];
        assert_eq!(report.end, AttemptEnd::Served, "raw: {raw}");
        assert_eq!(report.reported, Some(Usage::new(100, 12)), "raw: {raw}");
        assert_eq!(report.unreported_tokens, 0, "raw: {raw}");
        assert!(report.first_token.is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_stream_settles_with_its_opening_report_and_what_arrived() {
    for raw in [false, true] {
        let fixture = Fixture::new();
        fixture.script("a", [Step::events(stream())]);
        let (gate, books) = TestGate::new(|_| Ruling::Admit);
        let chain = stepwise(&fixture.chain("fp/a")).gated_by(gate);
        let request = Request::user("hi");
        if raw {
            let open = chain.forward(request, DIALECT).await.expect("served");
            let ForwardedStream::Pieces(mut chunks) = open.stream else {
                panic!("raw bytes");
            };
            for _ in 0..4 {
                assert!(next_chunk(&mut chunks).await);
            }
        } else {
            let mut open = chain.open(request).await.expect("served");
            for _ in 0..4 {
                next(&mut open.events).await;
            }
        }
        let report = books.reports()[0];
        assert_eq!(report.end, AttemptEnd::Cancelled, "raw: {raw}");
        assert_eq!(report.reported, Some(Usage::new(100, 1)), "raw: {raw}");
        assert_eq!(report.usage(), Usage::new(100, 11), "raw: {raw}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_stream_settles_as_failed_with_what_arrived() {
    let fixture = Fixture::new();
    let broken = Step::events(stream().into_iter().take(4));
    let broken = broken.then(Beat::Fail(Error::http(500, "scripted")));
    fixture.script("a", [broken]);
    let (gate, books) = TestGate::new(|_| Ruling::Admit);
    let chain = fixture.chain("fp/a").gated_by(gate);
    let mut open = chain.open(Request::user("hi")).await.expect("served");
    drain(&mut open.events).await;
    let report = books.reports()[0];
    let (class, status) = (Class::Transient, Some(500));
    assert_eq!(report.end, AttemptEnd::Failed { class, status });
    assert_eq!(report.usage(), Usage::new(100, 11));
}

#[tokio::test(start_paused = true)]
async fn a_failure_before_the_commit_point_keeps_the_opening_report() {
    let fixture = Fixture::new();
    let broken = Step::events(stream().into_iter().take(2));
    fixture.script("a", [broken.then(Beat::Fail(Error::http(404, "gone")))]);
    let (gate, books) = TestGate::new(|_| Ruling::Admit);
    let chain = fixture.chain("fp/a,tail/x").gated_by(gate);
    let mut open = chain.open(Request::user("hi")).await.expect("served");
    drain(&mut open.events).await;
    let reports = books.reports();
    assert_eq!(reports[0].reported, Some(Usage::new(100, 1)));
    assert_eq!(reports[1].end, AttemptEnd::Served);
}

#[tokio::test(start_paused = true)]
async fn each_failed_attempt_settles_before_the_next_one_enters() {
    let fixture = Fixture::new();
    fixture.script("a", [status(500), status(503)]);
    let (gate, books) = TestGate::new(|_| Ruling::Admit);
    let chain = fixture.chain("fp/a,tail/x").gated_by(gate);
    chain.generate(Request::user("hi")).await.expect("served");
    let ends: Vec<_> = books.reports().iter().map(|report| report.end).collect();
    let failed = |status| AttemptEnd::Failed {
        class: Class::Transient,
        status: Some(status),
    };
    assert_eq!(ends, [failed(500), failed(503), AttemptEnd::Served]);
}
