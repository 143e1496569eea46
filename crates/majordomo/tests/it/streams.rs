//! Streams: the commit point, and how a stream ends.

use crate::support::{Fixture, drain, kind, lines, next, secs, status, status_after};
use majordomo::fake::{Beat, Step};
use majordomo::llm::AttemptOutcome;
use majordomo::{
    Class, Error, ErrorKind, Event, FinishReason, Model, Request, Response, ResponseStream, Result,
    StreamItem, Usage,
};

fn start(id: &str) -> Event {
    Event::Start {
        id: Some(id.to_owned()),
        model: None,
    }
}

fn text(text: &str) -> Event {
    Event::Text(text.to_owned())
}

fn broken() -> Beat {
    Beat::Fail(Error::http(500, "broke"))
}

/// A stream of `fp/a,fp/b` with this step of `fp/a`.
async fn open(fixture: &Fixture, step: Step) -> ResponseStream {
    fixture.script("a", [step]);
    let chain = fixture.chain("fp/a,fp/b");
    chain.stream(Request::user("hi")).await.expect("it begins")
}

/// All items.
async fn items(mut stream: ResponseStream) -> Vec<Result<StreamItem>> {
    let mut items = Vec::new();
    while let Some(item) = stream.next().await {
        items.push(item);
    }
    items
}

fn last_response(items: &[Result<StreamItem>]) -> &Response {
    match items.last() {
        Some(Ok(StreamItem::Response(response))) => response,
        other => panic!("no response at the end: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_healthy_stream_yields_text_and_then_the_whole_response() {
    let fixture = Fixture::new();
    let events = [text("Hel"), text("lo"), Event::Finish(FinishReason::Stop)];
    let items = items(open(&fixture, Step::events(events)).await).await;

    assert_eq!(items.len(), 3);
    assert!(matches!(&items[0], Ok(StreamItem::Text(t)) if t == "Hel"));
    assert!(matches!(&items[1], Ok(StreamItem::Text(t)) if t == "lo"));
    let response = last_response(&items);
    assert_eq!(
        (response.text().as_str(), response.model.as_str()),
        ("Hello", "fp/a")
    );
    assert_eq!(lines(&response.attempt_log), ["fp/a served"]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_dies_before_its_commit_point_fails_over_invisibly() {
    let preambles = [
        Step::default(),
        Step::events([start("lost")]),
        Step::events([start("lost"), Event::Usage(Usage::default()), text("")]),
        Step::events([start("lost"), Event::EndPart(None)]).after(secs(3)),
    ];
    for preamble in preambles {
        let fixture = Fixture::new();
        fixture.script(
            "a",
            [preamble.clone().then(broken()), preamble.then(broken())],
        );
        fixture.script(
            "b",
            [Step::events([
                start("kept"),
                text("hello"),
                Event::Finish(FinishReason::Stop),
            ])],
        );

        let mut events = fixture
            .chain("fp/a,fp/b")
            .events(Request::user("hi"))
            .await
            .unwrap();
        let events: Vec<Event> = drain(&mut events)
            .await
            .into_iter()
            .map(Result::unwrap)
            .collect();

        assert_eq!(
            events,
            [
                start("kept"),
                text("hello"),
                Event::Finish(FinishReason::Stop)
            ]
        );
        assert_eq!(
            fixture.calls(),
            ["a", "a", "b"],
            "one retry, as for a whole answer"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_final_response_lists_the_failures_before_the_stream() {
    let fixture = Fixture::new();
    fixture.script("a", [status(500), status(500)]);
    let stream = fixture
        .chain("fp/a,fp/b")
        .stream(Request::user("hi"))
        .await
        .unwrap();
    let response = stream.finish().await.unwrap();
    assert_eq!(response.model, "fp/b");
    assert_eq!(
        lines(&response.attempt_log),
        [
            "fp/a failed Transient",
            "fp/a failed Transient",
            "fp/b served"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_semantic_event_commits() {
    let call = Event::ToolCallStart {
        index: 0,
        id: None,
        name: "look".into(),
        native: None,
    };
    let semantic = [
        text("x"),
        Event::Refusal("no".into()),
        Event::Reasoning("hm".into()),
        Event::Part(majordomo::Part::image("image/png", vec![1])),
        call,
    ];
    for event in semantic {
        let fixture = Fixture::new();
        let shown = format!("{event:?}");
        let stream = open(&fixture, Step::events([event]).then(broken())).await;
        let items = items(stream).await;
        assert!(matches!(items.last(), Some(Err(_))), "{shown}");
        assert_eq!(fixture.calls(), ["a"], "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_committed_stream_that_dies_yields_one_error_with_the_partial_text_and_ends() {
    let fixture = Fixture::new();
    let step = Step::events([start("x"), text("Hel"), text("lo")])
        .then(broken())
        .then(Beat::Event(text("never")));
    let mut stream = open(&fixture, step).await;

    let mut texts = String::new();
    let error = loop {
        match stream.next().await.unwrap() {
            Ok(StreamItem::Text(text)) => texts += &text,
            Ok(other) => panic!("{other:?}"),
            Err(error) => break error,
        }
    };

    assert_eq!(texts, "Hello");
    assert_eq!(error.status(), Some(500));
    assert_eq!(error.partial().unwrap().text(), "Hello");
    assert_eq!(error.partial().unwrap().model, "fp/a");
    assert!(stream.next().await.is_none() && stream.next().await.is_none());
    assert_eq!(fixture.calls(), ["a"], "no failover after the commit point");
}

#[tokio::test(start_paused = true)]
async fn the_attempt_log_of_a_broken_stream_shows_the_failure() {
    let fixture = Fixture::new();
    let stream = open(&fixture, Step::events([text("Hel")]).then(broken())).await;
    let error = stream.finish().await.unwrap_err();
    let attempts = &error.attempt_log().attempts;
    assert_eq!(attempts.len(), 1);
    assert!(matches!(
        attempts[0].outcome,
        AttemptOutcome::Failed {
            class: Class::Transient,
            status: Some(500),
            ..
        }
    ));
}

#[tokio::test(start_paused = true)]
async fn raw_events_of_a_broken_stream_end_with_one_error() {
    let fixture = Fixture::new();
    fixture.script("a", [Step::events([text("Hel")]).then(broken())]);
    let mut events = fixture
        .chain("fp/a,fp/b")
        .events(Request::user("hi"))
        .await
        .unwrap();
    let all = drain(&mut events).await;
    assert_eq!(all.len(), 2);
    assert!(all[0].is_ok() && all[1].is_err());
    assert!(next(&mut events).await.is_none(), "and stays ended");
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_its_finish_is_an_error() {
    let fixture = Fixture::new();
    let stream = open(&fixture, Step::events([text("half an ans")])).await;
    let error = stream.finish().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
    assert_eq!(error.partial().unwrap().text(), "half an ans");
    assert_eq!(fixture.health("fp/a").failures, 1, "and counts");
}

#[tokio::test(start_paused = true)]
async fn raw_events_without_a_finish_end_with_an_error() {
    let fixture = Fixture::new();
    fixture.script("a", [Step::events([text("half")])]);
    let mut events = fixture
        .chain("fp/a")
        .events(Request::user("hi"))
        .await
        .unwrap();
    let all = drain(&mut events).await;
    let error = all.last().unwrap().as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
}

#[tokio::test(start_paused = true)]
async fn a_stream_truncated_before_its_commit_point_fails_over_without_a_retry() {
    let fixture = Fixture::new();
    let stream = open(&fixture, Step::events([start("x")])).await;
    assert_eq!(stream.finish().await.unwrap().model, "fp/b");
    assert_eq!(fixture.calls(), ["a", "b"]);
    assert_eq!(fixture.health("fp/a").failures, 1);
}

#[tokio::test(start_paused = true)]
async fn an_empty_stream_fails_over_and_counts() {
    let usage = Event::Usage(Usage::default());
    let finished = Step::events([start("x"), usage, Event::Finish(FinishReason::Stop)]);
    for empty in [Step::empty(), finished] {
        let fixture = Fixture::new();
        let stream = open(&fixture, empty).await;
        assert_eq!(stream.finish().await.unwrap().model, "fp/b");
        assert_eq!(fixture.calls(), ["a", "b"]);
        assert_eq!(fixture.health("fp/a").failures, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_content_filter_without_text_is_an_outcome_not_an_empty_stream() {
    let fixture = Fixture::new();
    let cut = Step::events([Event::Finish(FinishReason::ContentFilter)]);
    let response = open(&fixture, cut).await.finish().await.unwrap();
    assert_eq!(response.finish, FinishReason::ContentFilter);
    assert_eq!(response.model, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn when_no_target_starts_a_stream_the_chain_is_exhausted() {
    let fixture = Fixture::new();
    fixture.script("a", [kind(ErrorKind::BadResponse)]);
    fixture.script("b", [Step::empty()]);
    let chain = fixture.chain("fp/a,fp/b");
    let error = chain.stream(Request::user("hi")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    assert_eq!(
        lines(error.attempt_log()),
        ["fp/a failed BadResponse", "fp/b failed Empty"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_permanent_error_before_the_commit_point_fails_fast() {
    let fixture = Fixture::new();
    fixture.script(
        "a",
        [Step::events([start("x")]).then(Beat::Fail(Error::http(400, "bad")))],
    );
    let chain = fixture.chain("fp/a,fp/b");
    let error = chain.stream(Request::user("hi")).await.unwrap_err();
    assert_eq!(error.status(), Some(400));
    assert_eq!(fixture.calls(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn throttling_before_the_commit_point_benches_and_fails_over() {
    let fixture = Fixture::new();
    let stream = open(&fixture, status_after(429, 30)).await;
    assert_eq!(stream.finish().await.unwrap().model, "fp/b");
    assert_eq!(fixture.benched_secs("fp/a"), 30);
}

#[tokio::test(start_paused = true)]
async fn opening_a_stream_returns_the_serving_target_and_the_earlier_attempts() {
    let fixture = Fixture::new();
    fixture.script("a", [status(404)]);
    let open = fixture
        .chain("fp/a,fp/b")
        .open(Request::user("hi"))
        .await
        .unwrap();
    assert_eq!(open.target, "fp/b");
    assert_eq!(lines(&open.attempt_log)[0], "fp/a failed ModelNotFound");
}
