//! A missing, rejected or exhausted key is benched, and with it every target that uses it.

use crate::support::{Fixture, coded, kind, lines, pass, secs, status};
use majordomo::fake::Step;
use majordomo::{ErrorKind, Request};

#[tokio::test(start_paused = true)]
async fn a_rejected_key_is_not_used_for_another_model_of_the_provider() {
    for refused in [
        status(401),
        coded(403, "account_deactivated"),
        kind(ErrorKind::MissingKey),
    ] {
        let fixture = Fixture::new();
        fixture.script("a", [refused]);

        let reply = fixture.send("fp/a,fp/b,tail/x").await.unwrap();

        assert_eq!(
            lines(&reply.attempt_log),
            ["fp/a failed Auth", "fp/b skipped", "tail/x served"]
        );
        assert_eq!(fixture.served_by("fp/c,tail/x").await, "tail/x");
        assert_eq!(fixture.calls(), ["a"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_403_that_names_neither_key_nor_account_does_not_affect_other_models() {
    for refused in [status(403), coded(403, "moderation")] {
        let fixture = Fixture::new();
        fixture.script("a", [refused]);
        let reply = fixture.send("fp/a,fp/b").await.unwrap();
        assert_eq!(
            lines(&reply.attempt_log),
            ["fp/a failed Forbidden", "fp/b served"]
        );
        assert!(fixture.is_healthy("fp") && fixture.is_healthy("fp/a"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_that_forbids_the_request_leaves_the_last_resort_open() {
    let fixture = Fixture::new();
    fixture.script("a", [status(403)]);
    fixture
        .registry
        .health()
        .bench("tail/x", secs(60), "maintenance");
    assert_eq!(fixture.served_by("fp/a,tail/x").await, "tail/x");
}

#[tokio::test(start_paused = true)]
async fn the_targets_of_a_rejected_key_stay_healthy() {
    let fixture = Fixture::new();
    fixture.script("a", [status(401)]);
    fixture.send("fp/a,tail/x").await.unwrap();
    assert!(fixture.is_healthy("fp/a") && fixture.is_healthy("tail/x"));
    assert_eq!(fixture.benched_secs("fp"), 60);
}

#[tokio::test(start_paused = true)]
async fn a_credentials_bench_doubles_up_to_an_hour() {
    let rows: [(u16, &[u64]); 2] = [
        (401, &[60, 120, 240, 480, 960, 1_920, 3_600, 3_600]),
        (402, &[300, 600, 1_200, 2_400, 3_600, 3_600]),
    ];
    for (refusal, lengths) in rows {
        let fixture = Fixture::new();
        fixture.fp.otherwise(move |_| status(refusal));
        for expected in lengths {
            fixture.send("fp/a,tail/x").await.unwrap();
            assert_eq!(fixture.benched_secs("fp"), *expected, "HTTP {refusal}");
            pass(*expected).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_works_again_readmits_all_its_targets() {
    let fixture = Fixture::new();
    fixture.script("a", [status(401)]);
    fixture.send("fp/a,tail/x").await.unwrap();
    pass(60).await;

    assert_eq!(fixture.served_by("fp/b,tail/x").await, "fp/b");

    assert!(fixture.is_healthy("fp"));
    assert_eq!(fixture.served_by("fp/a,tail/x").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_replaced_key_is_used_at_once_after_unbench() {
    let fixture = Fixture::new();
    fixture.script("a", [status(401)]);
    fixture.send("fp/a,tail/x").await.unwrap();
    fixture.registry.health().unbench("fp");
    assert_eq!(fixture.served_by("fp/a,tail/x").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_credential_can_be_benched_by_hand() {
    let fixture = Fixture::new();
    fixture
        .registry
        .health()
        .bench("fp", secs(30), "rotating keys");
    assert_eq!(fixture.served_by("fp/a,fp/b,tail/x").await, "tail/x");
    pass(30).await;
    assert_eq!(fixture.served_by("fp/a,fp/b,tail/x").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_missing_key_is_named_in_the_error_of_a_chain_of_one() {
    let fixture = Fixture::new();
    let missing = majordomo::Error::new(ErrorKind::MissingKey, "set FP_API_KEY");
    fixture.script("a", [Step::fail(missing)]);

    let first = fixture.refused("fp/a").await.to_string();
    let second = fixture.refused("fp/a").await.to_string();

    assert_eq!(fixture.calls(), ["a"], "the key is known to be missing");
    for (text, expected) in [(first, "set FP_API_KEY"), (second, "no key is configured")] {
        assert!(text.contains("fp/a") && text.contains(expected), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_with_a_benched_credential_is_never_forced() {
    let fixture = Fixture::new();
    fixture.registry.health().bench("fp", secs(1), "no key");
    fixture
        .registry
        .health()
        .bench("tail/x", secs(600), "maintenance");
    assert_eq!(fixture.served_by("fp/a,tail/x").await, "tail/x");
    assert_eq!(fixture.calls(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_key_rejected_for_another_request_stops_the_retries() {
    let fixture = Fixture::new();
    let health = fixture.registry.health().clone();
    fixture.fp.otherwise(move |_| {
        health.bench("fp", secs(60), "refused elsewhere");
        status(409)
    });
    assert_eq!(fixture.served_by("fp/a,tail/x").await, "tail/x");
    assert_eq!(fixture.fp.call_count("a"), 1);
}

#[tokio::test(start_paused = true)]
async fn after_a_credentials_bench_one_request_of_the_provider_probes() {
    let fixture = Fixture::new();
    fixture.script("a", [status(401), Step::reply("ok").after(secs(10))]);
    fixture.send("fp/a,tail/x").await.unwrap();
    pass(60).await;

    let chain = fixture.chain("fp/a,tail/x");
    let probe = tokio::spawn(async move { chain.generate(Request::user("hi")).await });
    tokio::task::yield_now().await;
    assert!(fixture.health("fp").probing);
    assert_eq!(fixture.served_by("fp/b,tail/x").await, "tail/x");

    assert_eq!(probe.await.unwrap().unwrap().model, "fp/a");
    assert_eq!(fixture.served_by("fp/b,tail/x").await, "fp/b");
}
