//! The failover matrix: which targets are called, how often, and which one serves.

use crate::support::{Fixture, kind, lines, pass, secs, status};
use majordomo::chain::ChainConfig;
use majordomo::fake::Step;
use majordomo::health::HealthConfig;
use majordomo::{Class, Error, ErrorKind, Part, Response, ToolCall};

fn retrying(retries: u32) -> ChainConfig {
    ChainConfig::default().with_retries(retries)
}

/// Failures never bench, so that only retries matter.
fn never_benching() -> HealthConfig {
    HealthConfig::default().with_threshold(1_000)
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_is_retried_and_served_by_the_same_target() {
    let fixture = Fixture::new();
    fixture.script("a", [status(503), Step::reply("hello")]);

    let reply = fixture.send("fp/a,fp/b").await.unwrap();

    assert_eq!(
        (reply.model.as_str(), reply.text().as_str()),
        ("fp/a", "hello")
    );
    assert_eq!(
        lines(&reply.attempt_log),
        ["fp/a failed Transient", "fp/a served"]
    );
    assert!(fixture.is_healthy("fp/a"), "the success reset the count");
}

#[tokio::test(start_paused = true)]
async fn the_retry_is_immediate() {
    let fixture = Fixture::new();
    fixture.script("a", [status(503)]);
    let before = tokio::time::Instant::now();
    fixture.send("fp/a").await.unwrap();
    assert_eq!(before.elapsed(), secs(0));
}

#[tokio::test(start_paused = true)]
async fn two_failures_in_one_request_bench_the_target_and_the_next_one_serves() {
    let fixture = Fixture::new();
    fixture.script("a", [status(500), status(500)]);

    let reply = fixture.send("fp/a,fp/b").await.unwrap();

    assert_eq!(reply.model, "fp/b");
    assert_eq!(fixture.calls(), ["a", "a", "b"]);
    assert_eq!(reply.attempt_log.calls(), 3);
    assert_eq!(fixture.benched_secs("fp/a"), 5);
}

#[tokio::test(start_paused = true)]
async fn a_benched_head_is_skipped_without_being_called() {
    let fixture = Fixture::new();
    fixture.script("a", [status(500), status(500)]);
    fixture.send("fp/a,fp/b").await.unwrap();

    let reply = fixture.send("fp/a,fp/b").await.unwrap();

    assert_eq!(lines(&reply.attempt_log), ["fp/a skipped", "fp/b served"]);
    assert_eq!(fixture.fp.call_count("a"), 2);
}

#[tokio::test(start_paused = true)]
async fn after_its_cooldown_a_target_is_admitted_again_and_success_resets_everything() {
    let fixture = Fixture::new();
    fixture.script("a", [status(500), status(500)]);
    fixture.send("fp/a,fp/b").await.unwrap();

    tokio::time::advance(secs(5) - std::time::Duration::from_millis(1)).await;
    assert_eq!(
        fixture.served_by("fp/a,fp/b").await,
        "fp/b",
        "just before the bench ends"
    );
    tokio::time::advance(std::time::Duration::from_millis(1)).await;
    assert_eq!(fixture.served_by("fp/a,fp/b").await, "fp/a");
    assert!(fixture.is_healthy("fp/a"));

    fixture.script("a", [status(500), status(500)]);
    fixture.send("fp/a,fp/b").await.unwrap();
    assert_eq!(fixture.benched_secs("fp/a"), 5, "the first length again");
}

#[tokio::test(start_paused = true)]
async fn every_further_bench_lasts_twice_as_long_up_to_five_minutes() {
    let fixture = Fixture::new();
    fixture.fp.otherwise(|call| match call.model.as_str() {
        "a" => status(500),
        _ => Step::reply("ok"),
    });
    for expected in [5, 10, 20, 40, 80, 160, 300, 300] {
        fixture.send("fp/a,fp/b").await.unwrap();
        assert_eq!(fixture.benched_secs("fp/a"), expected);
        pass(expected).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_alias_expands_anywhere_in_the_chain() {
    for spec in ["pair,fp/c", "fp/c,pair", "fp/c,pair,fp/d"] {
        let fixture = Fixture::new();
        fixture.registry.alias("pair", "fp/x,fp/y").unwrap();
        fixture.fp.otherwise(|call| match call.model.as_str() {
            "y" => Step::reply("found"),
            _ => status(404),
        });
        assert_eq!(fixture.served_by(spec).await, "fp/y", "{spec}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_chain_with_a_trailing_alias_fails_over_into_it() {
    let fixture = Fixture::new();
    let alias = "tail/opus-4.8,fp/minimax-m3:cloud";
    fixture.registry.alias("thinking", alias).unwrap();
    fixture.script("minimax-m3:cloud", [status(500), status(500)]);
    fixture.script("kimi-k2.6:cloud", [status(500), status(500)]);

    let spec = "fp/minimax-m3:cloud,fp/kimi-k2.6:cloud,thinking";
    let reply = fixture.send(spec).await.unwrap();

    assert_eq!(reply.model, "tail/opus-4.8");
    assert_eq!(reply.attempt_log.calls(), 5);
}

#[tokio::test(start_paused = true)]
async fn the_order_of_the_spec_is_the_order_of_the_attempts() {
    let fixture = Fixture::chained(retrying(0));
    fixture.fp.otherwise(|_| status(500));
    let reply = fixture.send("fp/c,fp/a,fp/b,tail/x").await.unwrap();
    assert_eq!(fixture.calls(), ["c", "a", "b"]);
    assert_eq!(reply.model, "tail/x");
}

#[tokio::test(start_paused = true)]
async fn retries_can_be_disabled_or_raised() {
    for (retries, calls) in [(0, 1), (1, 2), (3, 4)] {
        let fixture = Fixture::with(retrying(retries), never_benching());
        fixture.fp.otherwise(|_| status(500));
        assert_eq!(fixture.served_by("fp/a,tail/x").await, "tail/x");
        assert_eq!(fixture.fp.call_count("a"), calls, "{retries} retries");
        assert_eq!(fixture.health("fp/a").failures as usize, calls);
    }
}

#[test]
fn one_retry_is_the_default() {
    assert_eq!(ChainConfig::default().retries, 1);
}

#[tokio::test(start_paused = true)]
async fn retries_are_counted_per_target() {
    let fixture = Fixture::new();
    for model in ["a", "b", "c"] {
        fixture.script(model, [status(500), status(500)]);
    }
    assert_eq!(fixture.served_by("fp/a,fp/b,fp/c,fp/d").await, "fp/d");
    assert_eq!(fixture.calls(), ["a", "a", "b", "b", "c", "c", "d"]);
}

#[tokio::test(start_paused = true)]
async fn a_bench_during_a_request_stops_its_retries() {
    let fixture = Fixture::chained(retrying(5));
    fixture.fp.otherwise(|_| status(500));
    assert_eq!(fixture.served_by("fp/a,tail/x").await, "tail/x");
    assert_eq!(
        fixture.fp.call_count("a"),
        2,
        "benched at the second failure"
    );
}

#[tokio::test(start_paused = true)]
async fn a_bench_by_another_request_stops_the_retries() {
    let fixture = Fixture::with(retrying(5), never_benching());
    let health = fixture.registry.health().clone();
    fixture.fp.otherwise(move |_| {
        health.bench("fp/a", secs(60), "maintenance");
        status(500)
    });
    assert_eq!(fixture.served_by("fp/a,tail/x").await, "tail/x");
    assert_eq!(fixture.fp.call_count("a"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_fails_in_the_same_way_is_reported_once_and_recorded_twice() {
    let fixture = Fixture::new();
    fixture.script("m", [status(500), status(500)]);
    let error = fixture.refused("fp/m").await;
    assert_eq!(error.to_string().matches("fp/m").count(), 1, "{error}");
    assert_eq!(error.attempt_log().attempts.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_chain_names_every_target_with_its_reason() {
    let fixture = Fixture::new();
    fixture
        .registry
        .health()
        .bench("fp/benched", secs(60), "maintenance");
    fixture.script("failing", [status(500), status(502)]);
    fixture.script("gone", [status(404)]);
    fixture.script("mute", [Step::empty()]);

    let error = fixture
        .refused("fp/benched,fp/failing,fp/gone,fp/mute")
        .await;

    assert_eq!(error.kind(), ErrorKind::Exhausted);
    assert_eq!(
        lines(error.attempt_log()),
        [
            "fp/benched skipped",
            "fp/failing failed Transient",
            "fp/failing failed Transient",
            "fp/gone failed ModelNotFound",
            "fp/mute failed Empty",
        ]
    );
    let text = error.to_string();
    for word in [
        "fp/benched",
        "maintenance",
        "fp/failing",
        "502",
        "fp/gone",
        "404",
        "fp/mute",
    ] {
        assert!(text.contains(word), "{word} in: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_custom_classifier_replaces_the_built_in_one() {
    let swapped = ChainConfig::default().with_classify(|error: &Error| match error.status() {
        Some(500) => Class::Invalid,
        Some(400) => Class::Transient,
        _ => error.class(),
    });
    let fixture = Fixture::chained(swapped);
    fixture.script("five-hundred", [status(500)]);
    fixture.script("four-hundred", [status(400), Step::reply("ok")]);
    fixture.script("plain", [status(404)]);

    let error = fixture.refused("fp/five-hundred,fp/b").await;
    assert_eq!(error.status(), Some(500), "fails fast");
    assert_eq!(
        fixture.served_by("fp/four-hundred,fp/b").await,
        "fp/four-hundred"
    );
    assert_eq!(fixture.served_by("fp/plain,fp/b").await, "fp/b");
    assert!(
        fixture
            .notices
            .take()
            .contains(&"failed fp/five-hundred Invalid".to_owned())
    );
}

#[tokio::test(start_paused = true)]
async fn the_attempt_log_shows_the_custom_class() {
    let fixture =
        Fixture::chained(ChainConfig::default().with_classify(|_: &Error| Class::Conflict));
    fixture.script("a", [status(500)]);
    let reply = fixture.send("fp/a").await.unwrap();
    assert_eq!(
        lines(&reply.attempt_log),
        ["fp/a failed Conflict", "fp/a served"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_chain_of_one_has_the_same_retries_health_and_errors() {
    let fixture = Fixture::new();
    fixture.script(
        "a",
        [status(500), Step::reply("ok"), status(500), status(500)],
    );

    let reply = fixture.send("fp/a").await.unwrap();
    assert_eq!(
        lines(&reply.attempt_log),
        ["fp/a failed Transient", "fp/a served"]
    );

    let error = fixture.refused("fp/a").await;
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    assert_eq!(error.attempt_log().calls(), 2);
    assert_eq!(fixture.benched_secs("fp/a"), 5);
}

#[tokio::test(start_paused = true)]
async fn an_empty_completion_counts_and_advances_without_a_retry() {
    let blank = || Step::respond(Response::new(vec![Part::text(" \n\t")]));
    for step in [Step::empty(), blank(), kind(ErrorKind::Empty)] {
        let fixture = Fixture::new();
        fixture.script("a", [step]);
        assert_eq!(fixture.served_by("fp/a,fp/b").await, "fp/b");
        assert_eq!(fixture.calls(), ["a", "b"]);
        assert_eq!(fixture.health("fp/a").failures, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_chain_reports_empty_responses() {
    for spec in ["fp/a", "fp/a,fp/b"] {
        let fixture = Fixture::new();
        fixture.fp.otherwise(|_| Step::empty());
        let error = fixture.refused(spec).await;
        assert_eq!(error.kind(), ErrorKind::Exhausted, "{spec}");
        assert_eq!(
            crate::support::last_class(error.attempt_log()),
            Some(Class::Empty)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn tool_calls_and_images_without_text_are_responses() {
    let contents = [
        Part::ToolCall(ToolCall::new("x", "look", "{}")),
        Part::image("image/png", vec![1]),
    ];
    for part in contents {
        let fixture = Fixture::new();
        fixture.script("a", [Step::respond(Response::new(vec![part]))]);
        assert_eq!(fixture.served_by("fp/a,fp/b").await, "fp/a");
    }
}

#[tokio::test(start_paused = true)]
async fn six_targets_are_all_reached() {
    let fixture = Fixture::new();
    fixture.fp.otherwise(|_| status(500));
    let spec = "fp/a,fp/b,fp/c,fp/d,fp/e,tail/x";
    assert_eq!(fixture.served_by(spec).await, "tail/x");
    assert_eq!(fixture.calls().len(), 10);
}

#[tokio::test(start_paused = true)]
async fn the_error_of_a_failed_request_names_every_target_with_its_reason() {
    let fixture = Fixture::new();
    fixture.script("a", [status(503), status(503)]);
    fixture.script("b", [status(404)]);
    fixture.script("c", [status(503), status(503)]);
    let exhausted = fixture.refused("fp/a,fp/b,fp/c").await.report();
    for target in ["fp/a: HTTP 503", "fp/b: HTTP 404", "fp/c: HTTP 503"] {
        assert_eq!(exhausted.matches(target).count(), 1, "{exhausted}");
    }

    let fixture = Fixture::new();
    fixture.script("a", [status(503), status(503)]);
    fixture.script("b", [status(400)]);
    let stopped = fixture.refused("fp/a,fp/b").await.report();
    assert!(stopped.starts_with("fp/b: HTTP 400"), "{stopped}");
    assert!(stopped.contains("; before it, fp/a: HTTP 503"), "{stopped}");
}
