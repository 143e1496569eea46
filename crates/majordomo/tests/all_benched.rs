//! What a chain does when every target is benched.

mod support;

use majordomo::{AllBenched, Capabilities, ChainConfig, ErrorKind, Part, Request};
use support::{House, lines, pass, secs, status, status_after};

/// `fp/a` for a minute, `fp/b` for half of one.
fn benched(config: ChainConfig) -> House {
    let house = House::chained(config);
    house
        .registry
        .health()
        .bench("fp/a", secs(60), "maintenance");
    house
        .registry
        .health()
        .bench("fp/b", secs(30), "maintenance");
    house
}

#[tokio::test(start_paused = true)]
async fn the_target_whose_bench_ends_first_is_tried() {
    let house = benched(ChainConfig::default());
    let reply = house.ask("fp/a,fp/b").await.unwrap();
    assert_eq!(reply.model, "fp/b");
    assert_eq!(
        lines(&reply.ledger),
        ["fp/a skipped", "fp/b skipped", "fp/b served"]
    );
}

#[tokio::test(start_paused = true)]
async fn the_least_bad_one_heals_when_it_serves() {
    let house = benched(ChainConfig::default());
    house.ask("fp/a,fp/b").await.unwrap();
    assert!(house.is_spotless("fp/b"));
    assert_eq!(house.benched_secs("fp/a"), 60);
}

#[tokio::test(start_paused = true)]
async fn the_least_bad_one_is_tried_once_and_nobody_else_after_it() {
    let house = benched(ChainConfig::default());
    house.fp.otherwise(|_| status(500));
    let error = house.refused("fp/a,fp/b").await;
    assert_eq!(house.calls(), ["b"]);
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    assert!(
        house.benched_secs("fp/b") >= 30,
        "a bench is never shortened"
    );
}

#[tokio::test(start_paused = true)]
async fn the_least_bad_one_is_not_retried_after_a_collision_either() {
    let house = benched(ChainConfig::default());
    house.fp.otherwise(|_| status(409));
    house.refused("fp/a,fp/b").await;
    assert_eq!(house.calls(), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn with_the_switch_a_fully_benched_chain_fails_at_once_and_calls_nobody() {
    for spec in ["fp/a,fp/b", "fp/a"] {
        let house = benched(ChainConfig {
            all_benched: AllBenched::Fail,
            ..ChainConfig::default()
        });
        let error = house.refused(spec).await;
        assert_eq!(error.kind(), ErrorKind::Exhausted);
        assert_eq!(error.ledger().calls(), 0);
        assert!(error.to_string().contains("maintenance"), "{error}");
        assert!(house.calls().is_empty(), "{spec}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_chain_says_when_the_first_bench_ends() {
    let house = benched(ChainConfig {
        all_benched: AllBenched::Fail,
        ..ChainConfig::default()
    });
    pass(10).await;
    let error = house.refused("fp/a,fp/b").await;
    assert_eq!(error.retry_after(), Some(secs(20)));
}

#[tokio::test(start_paused = true)]
async fn a_chain_of_one_is_tried_too() {
    let house = benched(ChainConfig::default());
    assert_eq!(house.served_by("fp/a").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_healthy_target_keeps_the_benched_ones_alone_even_when_it_fails() {
    let house = benched(ChainConfig::default());
    house.fp.otherwise(|_| status(500));
    house.refused("fp/a,fp/b,fp/c").await;
    assert_eq!(house.calls(), ["c", "c"]);
}

#[tokio::test(start_paused = true)]
async fn targets_that_cannot_take_the_request_do_not_keep_the_others_benched() {
    let house = benched(ChainConfig::default());
    house
        .fp
        .set_model_capabilities("blind", Capabilities::text_only());
    let picture = Request::user(Part::image("image/x-unknown", vec![1]));
    let reply = house
        .chain("fp/blind,fp/a")
        .generate(picture)
        .await
        .unwrap();
    assert_eq!(reply.model, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_least_bad_target_that_cannot_take_the_request_gives_way_to_the_next() {
    let house = benched(ChainConfig::default());
    house
        .fp
        .set_model_capabilities("b", Capabilities::text_only());
    let picture = Request::user(Part::image("image/x-unknown", vec![1]));
    let reply = house.chain("fp/a,fp/b").generate(picture).await.unwrap();
    assert_eq!(reply.model, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_can_lengthen_a_bench_but_never_shorten_it() {
    for (retry_after, left) in [(7, 60), (90, 90)] {
        let house = benched(ChainConfig::default());
        house.script("a", [status_after(429, retry_after)]);
        house.refused("fp/a").await;
        assert_eq!(house.benched_secs("fp/a"), left);
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_that_does_not_have_the_model_leaves_the_last_resort_open() {
    let house = benched(ChainConfig::default());
    house.script("gone", [status(404)]);
    let reply = house.ask("fp/gone,fp/a,fp/b").await.unwrap();
    assert_eq!(reply.model, "fp/b");
    assert_eq!(house.calls(), ["gone", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_head_that_failed_is_the_only_one_asked_when_the_rest_is_benched() {
    let house = benched(ChainConfig::default());
    house.script("sick", [status(500), status(500)]);
    house.refused("fp/sick,fp/a,fp/b").await;
    assert_eq!(house.calls(), ["sick", "sick"]);
}
