//! What a chain does when every target is benched.

mod support;

use std::time::Duration;

use majordomo::fake::Step;
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
        lines(&reply.attempt_log),
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
        assert_eq!(error.attempt_log().calls(), 0);
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

/// A house whose only target was benched by one bad request; it answers well now.
async fn poisoned() -> House {
    let house = House::new();
    house.script("a", [status(500), status(500)]);
    house.refused("fp/a").await;
    assert_eq!(house.benched_secs("fp/a"), 5);
    house
}

#[tokio::test(start_paused = true)]
async fn after_one_bad_request_five_good_ones_at_once_are_all_served() {
    let house = poisoned().await;
    house.fp.otherwise(|_| Step::reply("ok").after(secs(2)));
    let chain = house.chain("fp/a");
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
    assert!(house.is_spotless("fp/a"), "a forced success heals");
}

#[tokio::test(start_paused = true)]
async fn after_one_bad_request_five_good_streams_at_once_are_all_served() {
    let house = poisoned().await;
    let chain = house.chain("fp/a");
    let mut open = Vec::new();
    for _ in 0..5 {
        open.push(chain.stream(Request::user("hi")).await.expect("served"));
    }
    for stream in open {
        stream.finish().await.expect("served to its end");
    }
    assert!(house.is_spotless("fp/a"));
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_with_eight_clients_ends_in_a_short_bench() {
    let house = House::new();
    house
        .fp
        .otherwise(|_| status(500).after(Duration::from_millis(10)));
    let chain = house.chain("fp/a");
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
        house.benched_secs("fp/a") <= 5,
        "{:?}",
        house.health("fp/a")
    );
    assert_eq!(house.health("fp/a").rounds, 1);
    house.fp.otherwise(|_| Step::reply("ok"));
    assert_eq!(house.served_by("fp/a").await, "fp/a");
    assert!(house.is_spotless("fp/a"));
}

#[tokio::test(start_paused = true)]
async fn streams_that_begin_and_break_while_they_are_forced_lengthen_nothing() {
    let house = poisoned().await;
    house
        .fp
        .otherwise(|_| Step::events([majordomo::Event::Text("half ".into())]));
    let chain = house.chain("fp/a");
    for _ in 0..20 {
        let stream = chain.stream(Request::user("hi")).await.expect("it begins");
        stream.finish().await.expect_err("it breaks");
    }
    assert_eq!(house.benched_secs("fp/a"), 5);
    assert_eq!(house.health("fp/a").rounds, 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_goes_past_a_probe_that_hangs_when_nobody_else_can_serve() {
    let house = poisoned().await;
    pass(5).await;
    house.script("a", [Step::hang()]);
    let chain = house.chain("fp/a");
    let probe = tokio::spawn(async move { chain.generate(Request::user("hi")).await });
    tokio::task::yield_now().await;
    assert!(house.health("fp/a").probing);
    assert_eq!(house.served_by("fp/a").await, "fp/a");
    probe.abort();
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_within_the_time_that_the_provider_named() {
    let house = House::new();
    house.script("a", [status_after(429, 30)]);
    house.refused("fp/a").await;
    pass(10).await;
    let error = house.refused("fp/a").await;
    assert_eq!(house.calls(), ["a"]);
    assert_eq!(error.retry_after(), Some(secs(20)));
    pass(20).await;
    assert_eq!(house.served_by("fp/a").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_target_that_asked_to_be_left_alone_gives_way_to_one_that_did_not() {
    let house = House::new();
    house.script("a", [status_after(429, 2)]);
    house
        .registry
        .health()
        .bench("fp/b", secs(60), "maintenance");
    house.refused("fp/a").await;
    assert_eq!(house.served_by("fp/a,fp/b").await, "fp/b");
}
