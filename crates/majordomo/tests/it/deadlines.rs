//! The caller's deadline covers all attempts, and cancellation carries no penalty.

use std::time::Duration;

use crate::support::{Fixture, lines, pass, secs, status};
use majordomo::chain::ChainConfig;
use majordomo::fake::{Beat, Step};
use majordomo::health::HealthConfig;
use majordomo::{ErrorKind, Request};
use tokio::time::Instant;

fn with_timeout(seconds: u64) -> Request {
    Request::user("hi").timeout(secs(seconds))
}

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_a_hanging_request_without_penalty() {
    let fixture = Fixture::new();
    fixture.script("a", [Step::hang()]);
    let began = Instant::now();

    let error = fixture
        .chain("fp/a,fp/b")
        .generate(with_timeout(3))
        .await
        .unwrap_err();

    assert_eq!(error.kind(), ErrorKind::Deadline);
    assert_eq!(began.elapsed(), secs(3));
    assert_eq!(lines(error.attempt_log()), ["fp/a failed Deadline"]);
    assert_eq!(fixture.calls(), ["a"], "no time is left for another");
    assert!(fixture.is_healthy("fp/a"));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_covers_all_attempts() {
    let fixture = Fixture::chained(ChainConfig::default().with_retries(0));
    fixture.fp.otherwise(|_| status(500).after(secs(2)));
    let began = Instant::now();

    let error = fixture
        .chain("fp/a,fp/b,fp/c")
        .generate(with_timeout(3))
        .await
        .unwrap_err();

    assert_eq!(error.kind(), ErrorKind::Deadline);
    assert_eq!(began.elapsed(), secs(3));
    assert_eq!(fixture.calls(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn every_target_is_reached_within_the_deadline() {
    let fixture = Fixture::new();
    fixture.fp.otherwise(|_| status(500).after(secs(1)));
    let spec = "fp/a,fp/b,fp/c,fp/d,fp/e,tail/x";
    let reply = fixture
        .chain(spec)
        .generate(with_timeout(11))
        .await
        .unwrap();
    assert_eq!(reply.model, "tail/x");
}

#[tokio::test(start_paused = true)]
async fn the_chains_deadline_applies_unless_the_request_sets_its_own() {
    let rows = [
        (Request::user("hi"), 5),
        (with_timeout(2), 2),
        (with_timeout(9), 9),
    ];
    for (request, expected) in rows {
        let fixture = Fixture::chained(ChainConfig::default().with_deadline(secs(5)));
        fixture.script("a", [Step::hang()]);
        let began = Instant::now();
        let error = fixture.chain("fp/a").generate(request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Deadline);
        assert_eq!(began.elapsed(), secs(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_within_the_deadline_is_served() {
    let fixture = Fixture::new();
    fixture.script("a", [Step::reply("just in time").after(secs(2))]);
    let reply = fixture
        .chain("fp/a")
        .generate(with_timeout(3))
        .await
        .unwrap();
    assert_eq!(reply.text(), "just in time");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_beyond_the_clocks_range_is_ignored() {
    let fixture = Fixture::new();
    let forever = Request::user("hi").timeout(Duration::MAX);
    assert!(fixture.chain("fp/a").generate(forever).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn cancelling_stops_the_chain_at_once_without_penalty() {
    let fixture = Fixture::new();
    fixture.script("a", [status(500), Step::reply("late").after(secs(60))]);
    let chain = fixture.chain("fp/a,fp/b");

    let left = tokio::time::timeout(secs(1), chain.generate(Request::user("hi"))).await;
    assert!(left.is_err(), "the caller left");
    pass(3_600).await;

    assert_eq!(
        fixture.calls(),
        ["a", "a"],
        "no target was called afterwards"
    );
    assert_eq!(
        fixture.health("fp/a").failures,
        1,
        "only the attempt that failed"
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_does_not_count_as_a_success() {
    let fixture = Fixture::with(
        ChainConfig::default().with_retries(0),
        HealthConfig::default(),
    );
    let text = majordomo::Event::Text("hel".into());
    fixture.script("a", [status(500), Step::events([text]).then(Beat::Hang)]);
    fixture.refused("fp/a").await;

    let chain = fixture.chain("fp/a");
    let left = tokio::time::timeout(secs(1), chain.generate(Request::user("hi"))).await;

    assert!(left.is_err());
    assert_eq!(fixture.health("fp/a").failures, 1, "the count stands");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_times_out_counts_and_the_next_target_serves() {
    let fixture = Fixture::new();
    fixture.fp.enqueue("a", [Step::hang(), Step::hang()]);
    let chain = fixture.chain("fp/a,fp/b").configured(|config| {
        config.retries = 0;
        config.attempt = Some(secs(4));
    });
    let began = Instant::now();

    let reply = chain.generate(Request::user("hi")).await.unwrap();
    assert_eq!(
        lines(&reply.attempt_log),
        ["fp/a failed Transient", "fp/b served"]
    );
    let mut stream = chain.stream(Request::user("hi")).await.unwrap();
    assert!(stream.next().await.is_some());

    assert_eq!(began.elapsed(), secs(8));
    assert!(fixture.benched_secs("fp/a") > 0, "two timeouts bench it");
}

#[tokio::test(start_paused = true)]
async fn the_attempt_timeout_does_not_end_a_committed_stream() {
    let fixture = Fixture::new();
    let pause = Beat::Wait(secs(60));
    let finish = Beat::Event(majordomo::Event::Finish(majordomo::FinishReason::Stop));
    let text = majordomo::Event::Text("slowly".into());
    fixture.script("a", [Step::events([text]).then(pause).then(finish)]);
    let chain = fixture.chain("fp/a");
    let chain = chain.configured(|config| config.attempt = Some(secs(4)));
    let stream = chain.stream(Request::user("hi")).await.unwrap();
    assert_eq!(stream.finish().await.unwrap().text(), "slowly");
}
