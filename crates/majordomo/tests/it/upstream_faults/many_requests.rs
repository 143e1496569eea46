//! Many requests to unhealthy targets, in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use majordomo::fake::Step;
use majordomo::{ErrorKind, Request};

use crate::support::{Fixture, pass, secs, status, status_after};

const TENTH: Duration = Duration::from_millis(100);
const HUNDREDTH: Duration = Duration::from_millis(10);

/// A seeded coin.
struct Coin(u64);

impl Coin {
    fn heads(&mut self) -> bool {
        // Knuth's MMIX generator.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 63 == 0
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_that_fails_half_the_time_costs_no_request_and_few_calls() {
    let fixture = Fixture::new();
    let coin = std::sync::Mutex::new(Coin(46));
    fixture
        .fp
        .otherwise(move |_| match coin.lock().unwrap().heads() {
            true => status(500),
            false => Step::reply("ok"),
        });
    for _ in 0..1_000 {
        assert!(fixture.send("fp/a,tail/x").await.is_ok());
        tokio::time::advance(TENTH).await;
    }
    let calls = fixture.fp.call_count("a");
    assert!(calls <= 1_250, "{calls} calls of the unhealthy one");
    assert!(fixture.tail.call_count("x") > 0, "it was benched at times");
}

#[tokio::test(start_paused = true)]
async fn targets_that_are_all_down_get_no_retry_storm_and_recover_at_once() {
    let fixture = Fixture::new();
    let well = Arc::new(AtomicBool::new(false));
    for fake in [&fixture.fp, &fixture.tail] {
        let well = Arc::clone(&well);
        fake.otherwise(move |_| match well.load(Ordering::Relaxed) {
            true => Step::reply("ok"),
            false => status(500),
        });
    }
    let mut requests = 0;
    let began = tokio::time::Instant::now();
    while began.elapsed() < secs(60) {
        let before = tokio::time::Instant::now();
        assert!(fixture.send("fp/a,tail/x").await.is_err());
        assert!(
            before.elapsed() < secs(1),
            "no request waits for a dead target"
        );
        requests += 1;
        tokio::time::advance(HUNDREDTH).await;
    }
    let calls = fixture.fp.call_count("a") + fixture.tail.call_count("x");
    assert!(
        calls <= requests + requests / 5,
        "{calls} calls for {requests} requests"
    );

    well.store(true, Ordering::Relaxed);
    assert!(
        fixture.send("fp/a,tail/x").await.is_ok(),
        "the last resort finds it"
    );
}

/// A fixture whose `fp/a` was benched for 5 s, which have passed.
async fn due() -> Fixture {
    let fixture = Fixture::new();
    fixture.script("a", [status(500), status(500)]);
    assert_eq!(fixture.served_by("fp/a,tail/x").await, "tail/x");
    pass(5).await;
    fixture
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_probe_is_released() {
    let fixture = due().await;
    fixture.script("a", [Step::hang()]);
    let chain = fixture.chain("fp/a,tail/x");
    let probe = chain.generate(Request::user("hi"));
    assert!(tokio::time::timeout(secs(1), probe).await.is_err());
    assert!(!fixture.health("fp/a").probing);
    assert_eq!(fixture.served_by("fp/a,tail/x").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_hanging_probe_ends_with_its_deadline_and_is_released() {
    let fixture = due().await;
    fixture.script("a", [Step::hang()]);
    let limited = Request::user("hi").timeout(secs(1));
    let error = fixture
        .chain("fp/a,tail/x")
        .generate(limited)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadline);
    assert_eq!(fixture.served_by("fp/a,tail/x").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_throttled_probe_benches_again() {
    let fixture = due().await;
    fixture.script("a", [status_after(429, 7)]);
    assert_eq!(fixture.served_by("fp/a,tail/x").await, "tail/x");
    assert_eq!(fixture.benched_secs("fp/a"), 7);
}

#[tokio::test(start_paused = true)]
async fn of_a_thousand_requests_at_the_end_of_a_bench_one_probes() {
    let fixture = due().await;
    let probes = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&probes);
    fixture.fp.otherwise(move |_| {
        seen.fetch_add(1, Ordering::Relaxed);
        Step::reply("ok").after(secs(1))
    });
    let mut in_flight = tokio::task::JoinSet::new();
    for _ in 0..1_000 {
        let chain = fixture.chain("fp/a,tail/x");
        in_flight.spawn(async move { chain.generate(Request::user("hi")).await.unwrap().model });
    }
    let served = in_flight.join_all().await;
    assert_eq!(probes.load(Ordering::Relaxed), 1);
    assert_eq!(served.iter().filter(|model| *model == "fp/a").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn with_all_benched_the_one_due_first_is_tried_once_and_the_error_has_no_retry_after() {
    let fixture = Fixture::new();
    let health = fixture.registry.health();
    health.bench("fp/a", secs(30), "unhealthy");
    health.bench("tail/x", secs(20), "unhealthy");
    fixture.tail.enqueue("x", [status(500)]);
    let error = fixture.refused("fp/a,tail/x").await;
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    // The next request makes a forced attempt at once.
    assert_eq!(error.retry_after(), None);
    assert!(error.is_retryable());
    assert_eq!(
        (fixture.fp.call_count("a"), fixture.tail.call_count("x")),
        (0, 1)
    );
}
