//! The caller's deadline holds over all attempts, and leaving is nobody's fault.

mod support;

use std::time::Duration;

use majordomo::fake::{Beat, Step};
use majordomo::{ChainConfig, ErrorKind, HealthConfig, Request};
use support::{House, lines, pass, secs, status};
use tokio::time::Instant;

fn hurried(seconds: u64) -> Request {
    Request::user("hi").timeout(secs(seconds))
}

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_a_request_that_hangs_and_nobody_is_blamed() {
    let house = House::new();
    house.script("a", [Step::hang()]);
    let began = Instant::now();

    let error = house
        .chain("fp/a,fp/b")
        .generate(hurried(3))
        .await
        .unwrap_err();

    assert_eq!(error.kind(), ErrorKind::Deadline);
    assert_eq!(began.elapsed(), secs(3));
    assert_eq!(lines(error.attempt_log()), ["fp/a failed Deadline"]);
    assert_eq!(house.calls(), ["a"], "there is no time left for another");
    assert!(house.is_spotless("fp/a"));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_covers_all_attempts_together() {
    let house = House::chained(ChainConfig {
        retries: 0,
        ..ChainConfig::default()
    });
    house.fp.otherwise(|_| status(500).after(secs(2)));
    let began = Instant::now();

    let error = house
        .chain("fp/a,fp/b,fp/c")
        .generate(hurried(3))
        .await
        .unwrap_err();

    assert_eq!(error.kind(), ErrorKind::Deadline);
    assert_eq!(began.elapsed(), secs(3));
    assert_eq!(house.calls(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn every_target_is_reached_within_the_deadline() {
    let house = House::new();
    house.fp.otherwise(|_| status(500).after(secs(1)));
    let spec = "fp/a,fp/b,fp/c,fp/d,fp/e,tail/x";
    let reply = house.chain(spec).generate(hurried(11)).await.unwrap();
    assert_eq!(reply.model, "tail/x");
}

#[tokio::test(start_paused = true)]
async fn a_chains_own_deadline_holds_unless_the_request_says_otherwise() {
    let rows = [(Request::user("hi"), 5), (hurried(2), 2), (hurried(9), 9)];
    for (request, expected) in rows {
        let house = House::chained(ChainConfig {
            deadline: Some(secs(5)),
            ..ChainConfig::default()
        });
        house.script("a", [Step::hang()]);
        let began = Instant::now();
        let error = house.chain("fp/a").generate(request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Deadline);
        assert_eq!(began.elapsed(), secs(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_time_is_served() {
    let house = House::new();
    house.script("a", [Step::reply("just so").after(secs(2))]);
    let reply = house.chain("fp/a").generate(hurried(3)).await.unwrap();
    assert_eq!(reply.text(), "just so");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_beyond_all_time_is_no_deadline() {
    let house = House::new();
    let forever = Request::user("hi").timeout(Duration::MAX);
    assert!(house.chain("fp/a").generate(forever).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn cancelling_stops_the_chain_at_once_and_nobody_is_blamed() {
    let house = House::new();
    house.script("a", [status(500), Step::reply("late").after(secs(60))]);
    let chain = house.chain("fp/a,fp/b");

    let left = tokio::time::timeout(secs(1), chain.generate(Request::user("hi"))).await;
    assert!(left.is_err(), "the caller left");
    pass(3_600).await;

    assert_eq!(house.calls(), ["a", "a"], "nobody was asked afterwards");
    assert_eq!(
        house.health("fp/a").failures,
        1,
        "only the attempt that failed"
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_is_no_success_either() {
    let house = House::with(
        ChainConfig {
            retries: 0,
            ..ChainConfig::default()
        },
        HealthConfig::default(),
    );
    let text = majordomo::Event::Text("hel".into());
    house.script("a", [status(500), Step::events([text]).then(Beat::Hang)]);
    house.refused("fp/a").await;

    let chain = house.chain("fp/a");
    let left = tokio::time::timeout(secs(1), chain.generate(Request::user("hi"))).await;

    assert!(left.is_err());
    assert_eq!(house.health("fp/a").failures, 1, "the count stands");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_takes_too_long_counts_and_the_next_target_is_asked() {
    let house = House::new();
    house.fp.enqueue("a", [Step::hang(), Step::hang()]);
    let chain = house.chain("fp/a,fp/b").configured(|config| {
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
    assert!(house.benched_secs("fp/a") > 0, "two timeouts bench it");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_began_is_not_ended_by_the_limit_on_an_attempt() {
    let house = House::new();
    let pause = Beat::Wait(secs(60));
    let finish = Beat::Event(majordomo::Event::Finish(majordomo::FinishReason::Stop));
    let text = majordomo::Event::Text("slowly".into());
    house.script("a", [Step::events([text]).then(pause).then(finish)]);
    let chain = house.chain("fp/a");
    let chain = chain.configured(|config| config.attempt = Some(secs(4)));
    let stream = chain.stream(Request::user("hi")).await.unwrap();
    assert_eq!(stream.finish().await.unwrap().text(), "slowly");
}
