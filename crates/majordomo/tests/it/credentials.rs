//! A key that is missing, refused or out of money is benched by itself, with
//! every target that uses it.

mod support;

use majordomo::fake::Step;
use majordomo::{ErrorKind, Request};
use support::{House, coded, kind, lines, pass, secs, status};

#[tokio::test(start_paused = true)]
async fn a_refused_key_is_not_tried_again_with_another_model_of_that_provider() {
    for refused in [
        status(401),
        coded(403, "account_deactivated"),
        kind(ErrorKind::MissingKey),
    ] {
        let house = House::new();
        house.script("a", [refused]);

        let reply = house.ask("fp/a,fp/b,tail/x").await.unwrap();

        assert_eq!(
            lines(&reply.attempt_log),
            ["fp/a failed Auth", "fp/b skipped", "tail/x served"]
        );
        assert_eq!(house.served_by("fp/c,tail/x").await, "tail/x");
        assert_eq!(house.calls(), ["a"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_403_that_names_neither_key_nor_account_leaves_the_other_models_alone() {
    for refused in [status(403), coded(403, "moderation")] {
        let house = House::new();
        house.script("a", [refused]);
        let reply = house.ask("fp/a,fp/b").await.unwrap();
        assert_eq!(
            lines(&reply.attempt_log),
            ["fp/a failed Forbidden", "fp/b served"]
        );
        assert!(house.is_spotless("fp") && house.is_spotless("fp/a"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_that_refuses_the_request_leaves_the_last_resort_open() {
    let house = House::new();
    house.script("a", [status(403)]);
    house
        .registry
        .health()
        .bench("tail/x", secs(60), "maintenance");
    assert_eq!(house.served_by("fp/a,tail/x").await, "tail/x");
}

#[tokio::test(start_paused = true)]
async fn the_models_of_a_refused_key_are_not_sick_themselves() {
    let house = House::new();
    house.script("a", [status(401)]);
    house.ask("fp/a,tail/x").await.unwrap();
    assert!(house.is_spotless("fp/a") && house.is_spotless("tail/x"));
    assert_eq!(house.benched_secs("fp"), 60);
}

#[tokio::test(start_paused = true)]
async fn a_credentials_bench_doubles_up_to_an_hour() {
    let rows: [(u16, &[u64]); 2] = [
        (401, &[60, 120, 240, 480, 960, 1_920, 3_600, 3_600]),
        (402, &[300, 600, 1_200, 2_400, 3_600, 3_600]),
    ];
    for (refusal, lengths) in rows {
        let house = House::new();
        house.fp.otherwise(move |_| status(refusal));
        for expected in lengths {
            house.ask("fp/a,tail/x").await.unwrap();
            assert_eq!(house.benched_secs("fp"), *expected, "HTTP {refusal}");
            pass(*expected).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_works_again_heals_all_its_targets() {
    let house = House::new();
    house.script("a", [status(401)]);
    house.ask("fp/a,tail/x").await.unwrap();
    pass(60).await;

    assert_eq!(house.served_by("fp/b,tail/x").await, "fp/b");

    assert!(house.is_spotless("fp"));
    assert_eq!(house.served_by("fp/a,tail/x").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_replaced_key_is_used_at_once_after_unbench() {
    let house = House::new();
    house.script("a", [status(401)]);
    house.ask("fp/a,tail/x").await.unwrap();
    house.registry.health().unbench("fp");
    assert_eq!(house.served_by("fp/a,tail/x").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_credential_can_be_benched_by_hand() {
    let house = House::new();
    house
        .registry
        .health()
        .bench("fp", secs(30), "rotating keys");
    assert_eq!(house.served_by("fp/a,fp/b,tail/x").await, "tail/x");
    pass(30).await;
    assert_eq!(house.served_by("fp/a,fp/b,tail/x").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_chain_whose_only_target_has_no_key_fails_with_an_error_that_says_so() {
    let house = House::new();
    let missing = majordomo::Error::new(ErrorKind::MissingKey, "set FP_API_KEY");
    house.script("a", [Step::fail(missing)]);

    let first = house.refused("fp/a").await.to_string();
    let second = house.refused("fp/a").await.to_string();

    assert_eq!(house.calls(), ["a"], "the answer is known");
    for (text, said) in [(first, "set FP_API_KEY"), (second, "no key is configured")] {
        assert!(text.contains("fp/a") && text.contains(said), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_with_a_benched_credential_is_never_the_least_bad_one() {
    let house = House::new();
    house.registry.health().bench("fp", secs(1), "no key");
    house
        .registry
        .health()
        .bench("tail/x", secs(600), "maintenance");
    assert_eq!(house.served_by("fp/a,tail/x").await, "tail/x");
    assert_eq!(house.calls(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_refused_elsewhere_stops_the_retries_here() {
    let house = House::new();
    let health = house.registry.health().clone();
    house.fp.otherwise(move |_| {
        health.bench("fp", secs(60), "refused elsewhere");
        status(409)
    });
    assert_eq!(house.served_by("fp/a,tail/x").await, "tail/x");
    assert_eq!(house.fp.call_count("a"), 1);
}

#[tokio::test(start_paused = true)]
async fn after_a_credentials_bench_one_request_of_that_provider_probes() {
    let house = House::new();
    house.script("a", [status(401), Step::reply("ok").after(secs(10))]);
    house.ask("fp/a,tail/x").await.unwrap();
    pass(60).await;

    let chain = house.chain("fp/a,tail/x");
    let probe = tokio::spawn(async move { chain.generate(Request::user("hi")).await });
    tokio::task::yield_now().await;
    assert!(house.health("fp").probing);
    assert_eq!(house.served_by("fp/b,tail/x").await, "tail/x");

    assert_eq!(probe.await.unwrap().unwrap().model, "fp/a");
    assert_eq!(house.served_by("fp/b,tail/x").await, "fp/b");
}
