//! What a chain does when every target is benched.

use std::time::Duration;

use crate::support::{Fixture, lines, pass, secs, status, status_after};
use majordomo::chain::{AllBenched, ChainConfig};
use majordomo::fake::Step;
use majordomo::{Capabilities, Error, ErrorKind, Part, Request};

/// `fp/a` for a minute, `fp/b` for half of one.
fn benched(config: ChainConfig) -> Fixture {
    let fixture = Fixture::chained(config);
    fixture
        .registry
        .health()
        .bench("fp/a", secs(60), "maintenance");
    fixture
        .registry
        .health()
        .bench("fp/b", secs(30), "maintenance");
    fixture
}

#[tokio::test(start_paused = true)]
async fn the_target_whose_bench_ends_first_is_called() {
    let fixture = benched(ChainConfig::default());
    let reply = fixture.send("fp/a,fp/b").await.unwrap();
    assert_eq!(reply.model, "fp/b");
    assert_eq!(
        lines(&reply.attempt_log),
        ["fp/a skipped", "fp/b skipped", "fp/b served"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_forced_target_recovers_when_it_serves() {
    let fixture = Fixture::new();
    fixture.script("b", [status(500), status(500)]);
    fixture.refused("fp/b").await;
    assert!(!fixture.is_healthy("fp/b"), "its failures bench it");
    fixture.send("fp/b").await.unwrap();
    assert!(fixture.is_healthy("fp/b"));
}

#[tokio::test(start_paused = true)]
async fn a_forced_target_is_called_once_and_no_other_after_it() {
    let fixture = benched(ChainConfig::default());
    fixture.fp.otherwise(|_| status(500));
    let error = fixture.refused("fp/a,fp/b").await;
    assert_eq!(fixture.calls(), ["b"]);
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    assert!(
        fixture.benched_secs("fp/b") >= 30,
        "a bench is never shortened"
    );
}

#[tokio::test(start_paused = true)]
async fn a_forced_target_is_not_retried_after_a_conflict() {
    let fixture = benched(ChainConfig::default());
    fixture.fp.otherwise(|_| status(409));
    fixture.refused("fp/a,fp/b").await;
    assert_eq!(fixture.calls(), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn with_all_benched_fail_the_chain_fails_at_once_without_a_call() {
    for spec in ["fp/a,fp/b", "fp/a"] {
        let fixture = benched(ChainConfig::default().with_all_benched(AllBenched::Fail));
        let error = fixture.refused(spec).await;
        assert_eq!(error.kind(), ErrorKind::Exhausted);
        assert_eq!(error.attempt_log().calls(), 0);
        assert!(error.to_string().contains("maintenance"), "{error}");
        assert!(fixture.calls().is_empty(), "{spec}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_chain_reports_when_the_first_bench_ends() {
    let fixture = benched(ChainConfig::default().with_all_benched(AllBenched::Fail));
    pass(10).await;
    let error = fixture.refused("fp/a,fp/b").await;
    assert_eq!(error.retry_after(), Some(secs(20)));
}

#[tokio::test(start_paused = true)]
async fn a_benched_chain_of_one_is_called() {
    let fixture = benched(ChainConfig::default());
    assert_eq!(fixture.served_by("fp/a").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn benched_targets_are_not_called_when_a_healthy_one_failed() {
    let fixture = benched(ChainConfig::default());
    fixture.fp.otherwise(|_| status(500));
    fixture.refused("fp/a,fp/b,fp/c").await;
    assert_eq!(fixture.calls(), ["c", "c"]);
}

#[tokio::test(start_paused = true)]
async fn incapable_targets_do_not_keep_benched_ones_from_being_forced() {
    let fixture = benched(ChainConfig::default());
    fixture
        .fp
        .set_model_capabilities("blind", Capabilities::text_only());
    let picture = Request::user(Part::image("image/x-unknown", vec![1]));
    let reply = fixture
        .chain("fp/blind,fp/a")
        .generate(picture)
        .await
        .unwrap();
    assert_eq!(reply.model, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_forced_target_that_is_incapable_gives_way_to_the_next() {
    let fixture = benched(ChainConfig::default());
    fixture
        .fp
        .set_model_capabilities("b", Capabilities::text_only());
    let picture = Request::user(Part::image("image/x-unknown", vec![1]));
    let reply = fixture.chain("fp/a,fp/b").generate(picture).await.unwrap();
    assert_eq!(reply.model, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_can_lengthen_a_bench_but_never_shorten_it() {
    for (retry_after, left) in [(7, 60), (90, 90)] {
        let fixture = benched(ChainConfig::default());
        fixture.script("a", [status_after(429, retry_after)]);
        fixture.refused("fp/a").await;
        assert_eq!(fixture.benched_secs("fp/a"), left);
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_without_the_model_leaves_the_last_resort_open() {
    let fixture = benched(ChainConfig::default());
    fixture.script("gone", [status(404)]);
    let reply = fixture.send("fp/gone,fp/a,fp/b").await.unwrap();
    assert_eq!(reply.model, "fp/b");
    assert_eq!(fixture.calls(), ["gone", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_head_is_the_only_target_called_when_the_rest_is_benched() {
    let fixture = benched(ChainConfig::default());
    fixture.script("failing", [status(500), status(500)]);
    fixture.refused("fp/failing,fp/a,fp/b").await;
    assert_eq!(fixture.calls(), ["failing", "failing"]);
}

/// One bad request benches the only target that works, alongside one that never does.
#[tokio::test(start_paused = true)]
async fn a_poisoned_target_serves_others_alongside_a_dead_one() {
    let fixture = Fixture::new();
    fixture.fp.otherwise(|call| match call.model.as_str() {
        "dead" => status(503),
        _ => Step::reply("served"),
    });
    // The dead target has been benched more than once since its last success.
    for _ in 0..2 {
        fixture.served_by("fp/dead,fp/works").await;
        pass(10).await;
    }
    for _ in 0..5 {
        fixture.script("works", [status(500), status(500)]);
        fixture.refused("fp/dead,fp/works").await;
        for _ in 0..3 {
            assert_eq!(fixture.served_by("fp/dead,fp/works").await, "fp/works");
            pass(7).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_probe_leaves_the_last_resort_open() {
    let fixture = Fixture::new();
    fixture.script("a", [status(500), status(500)]);
    fixture.refused("fp/a").await;
    fixture
        .registry
        .health()
        .bench("fp/b", secs(60), "unhealthy");
    pass(5).await;
    fixture.script("a", [status(500)]);
    assert_eq!(fixture.served_by("fp/a,fp/b").await, "fp/b");
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_target_gives_way_to_the_next_benched_one() {
    let fixture = benched(ChainConfig::default());
    let refused = || Step::fail(Error::new(ErrorKind::Connect, "connection refused"));
    fixture.script("b", [refused()]);
    assert_eq!(fixture.served_by("fp/a,fp/b").await, "fp/a");
    assert_eq!(fixture.calls(), ["b", "a"]);
}

/// A fixture whose only target was benched by one bad request and is healthy now.
async fn poisoned() -> Fixture {
    let fixture = Fixture::new();
    fixture.script("a", [status(500), status(500)]);
    fixture.refused("fp/a").await;
    assert_eq!(fixture.benched_secs("fp/a"), 5);
    fixture
}

#[tokio::test(start_paused = true)]
async fn after_one_bad_request_five_concurrent_good_ones_are_served() {
    let fixture = poisoned().await;
    fixture.fp.otherwise(|_| Step::reply("ok").after(secs(2)));
    let chain = fixture.chain("fp/a");
    let good: Vec<_> = (0..5)
        .map(|_| {
            let chain = chain.clone();
            tokio::spawn(async move { chain.generate(Request::user("hi")).await })
        })
        .collect();
    for request in good {
        let reply = request.await.unwrap();
        assert!(reply.is_ok(), "{:?}", reply.err());
    }
    assert!(
        fixture.is_healthy("fp/a"),
        "a forced success ends the bench"
    );
}

#[tokio::test(start_paused = true)]
async fn after_one_bad_request_five_concurrent_good_streams_are_served() {
    let fixture = poisoned().await;
    let chain = fixture.chain("fp/a");
    let mut open = Vec::new();
    for _ in 0..5 {
        open.push(chain.stream(Request::user("hi")).await.expect("served"));
    }
    for stream in open {
        stream.finish().await.expect("served to its end");
    }
    assert!(fixture.is_healthy("fp/a"));
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_with_eight_clients_ends_in_a_short_bench() {
    let fixture = Fixture::new();
    fixture
        .fp
        .otherwise(|_| status(500).after(Duration::from_millis(10)));
    let chain = fixture.chain("fp/a");
    let outage = tokio::time::Instant::now() + Duration::from_millis(1_500);
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let chain = chain.clone();
            tokio::spawn(async move {
                while tokio::time::Instant::now() < outage {
                    let _ = chain.generate(Request::user("hi")).await;
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    assert!(
        fixture.benched_secs("fp/a") <= 5,
        "{:?}",
        fixture.health("fp/a")
    );
    assert_eq!(fixture.health("fp/a").rounds, 1);
    fixture.fp.otherwise(|_| Step::reply("ok"));
    assert_eq!(fixture.served_by("fp/a").await, "fp/a");
    assert!(fixture.is_healthy("fp/a"));
}

#[tokio::test(start_paused = true)]
async fn three_failures_of_the_sole_target_cost_its_client_one_request() {
    for failure in [
        || status(500),
        || status(529),
        || Step::fail(Error::new(ErrorKind::ConnectionLost, "connection reset")),
    ] {
        let fixture = Fixture::new();
        fixture.script("a", [failure(), failure(), failure()]);
        fixture.refused("fp/a").await;
        assert_eq!(fixture.served_by("fp/a").await, "fp/a");
        assert_eq!(fixture.calls().len(), 4);
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_sole_target_does_not_multiply_requests() {
    let fixture = Fixture::new();
    fixture.fp.otherwise(|_| status(500));
    for _ in 0..100 {
        fixture.refused("fp/a").await;
        pass(1).await;
    }
    let calls = fixture.calls().len();
    assert!(
        (101..=120).contains(&calls),
        "{calls} calls of 100 requests"
    );
}

#[tokio::test(start_paused = true)]
async fn forced_streams_that_break_after_their_start_lengthen_no_bench() {
    let fixture = poisoned().await;
    fixture
        .fp
        .otherwise(|_| Step::events([majordomo::Event::Text("half ".into())]));
    let chain = fixture.chain("fp/a");
    for _ in 0..20 {
        let stream = chain.stream(Request::user("hi")).await.expect("it begins");
        stream.finish().await.expect_err("it breaks");
    }
    assert_eq!(fixture.benched_secs("fp/a"), 5);
    assert_eq!(fixture.health("fp/a").rounds, 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_passes_a_hanging_probe_when_no_other_target_can_serve() {
    let fixture = poisoned().await;
    pass(5).await;
    fixture.script("a", [Step::hang()]);
    let chain = fixture.chain("fp/a");
    let probe = tokio::spawn(async move { chain.generate(Request::user("hi")).await });
    tokio::task::yield_now().await;
    assert!(fixture.health("fp/a").probing);
    assert_eq!(fixture.served_by("fp/a").await, "fp/a");
    probe.abort();
}

#[tokio::test(start_paused = true)]
async fn no_target_is_called_before_its_retry_after_has_passed() {
    let fixture = Fixture::new();
    fixture.script("a", [status_after(429, 30)]);
    fixture.refused("fp/a").await;
    pass(10).await;
    let error = fixture.refused("fp/a").await;
    assert_eq!(fixture.calls(), ["a"]);
    assert_eq!(error.retry_after(), Some(secs(20)));
    pass(20).await;
    assert_eq!(fixture.served_by("fp/a").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_throttled_target_gives_way_to_a_benched_one() {
    let fixture = Fixture::new();
    fixture.script("a", [status_after(429, 2)]);
    fixture
        .registry
        .health()
        .bench("fp/b", secs(60), "maintenance");
    fixture.refused("fp/a").await;
    assert_eq!(fixture.served_by("fp/a,fp/b").await, "fp/b");
}
