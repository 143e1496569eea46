//! The classes of failure, row by row: how often the head is asked, whether
//! the next target serves, and what the head's health says afterwards.

mod support;

use majordomo::fake::Step;
use majordomo::{ChainConfig, Error, ErrorKind, KeyOwner, Timer};
use support::{House, coded, kind, secs, status, status_after};

/// What is left of the head after a request to `fp/a,tail/x` in which every
/// call of `fp/a` failed alike.
#[derive(Debug, PartialEq)]
struct After {
    calls: usize,
    served_by_next: bool,
    failures: u32,
    benched: u64,
    credential: u64,
}

const FREE: After = After {
    calls: 1,
    served_by_next: true,
    failures: 0,
    benched: 0,
    credential: 0,
};

async fn outcome(house: &House, step: Step) -> After {
    house.fp.otherwise(move |_| step.clone());
    let served = house.ask("fp/a,tail/x").await;
    After {
        calls: house.fp.call_count("a"),
        served_by_next: served.is_ok_and(|reply| reply.model == "tail/x"),
        failures: house.health("fp/a").failures,
        benched: house.benched_secs("fp/a"),
        credential: house.benched_secs("fp"),
    }
}

async fn assert_rows(rows: impl IntoIterator<Item = Step>, expected: After) {
    for step in rows {
        let shown = format!("{step:?}");
        assert_eq!(outcome(&House::new(), step).await, expected, "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn transient_failures_are_retried_once_and_count() {
    let rows = [
        status(500),
        status(502),
        status(504),
        status(520),
        status(408),
        status(429),
        status(503),
        status(529),
        coded(529, "overloaded_error"),
        kind(ErrorKind::Connect),
        kind(ErrorKind::Dns),
        kind(ErrorKind::ConnectionLost),
        kind(ErrorKind::Timeout(Timer::FirstByte)),
        kind(ErrorKind::Timeout(Timer::Total)),
        kind(ErrorKind::Unknown),
    ];
    let expected = After {
        calls: 2,
        benched: 5,
        ..FREE
    };
    assert_rows(rows, expected).await;
}

#[tokio::test(start_paused = true)]
async fn throttling_with_a_retry_after_benches_until_then_and_does_not_count() {
    let overloaded = Error::provider(200, "scripted")
        .with_code("overloaded_error")
        .with_retry_after(Some(secs(7)));
    let rows = [
        status_after(429, 7),
        status_after(503, 7),
        status_after(529, 7),
        Step::fail(overloaded),
    ];
    let expected = After { benched: 7, ..FREE };
    assert_rows(rows, expected).await;
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_is_believed_for_an_hour_at_most() {
    let house = House::new();
    let after = outcome(&house, status_after(429, 86_400)).await;
    assert_eq!(after.benched, 3_600);
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_on_408_is_retried_and_only_lengthens_the_bench() {
    let longer = outcome(&House::new(), status_after(408, 60)).await;
    assert_eq!((longer.calls, longer.benched), (2, 60));
    let shorter = outcome(&House::new(), status_after(408, 1)).await;
    assert_eq!((shorter.calls, shorter.benched), (2, 5));
}

#[tokio::test(start_paused = true)]
async fn not_found_unsupported_and_too_long_advance_free_of_penalty() {
    let rows = [
        status(404),
        kind(ErrorKind::ModelNotFound),
        coded(400, "model_not_found"),
        kind(ErrorKind::Unsupported),
        status(501),
        coded(400, "unsupported_value"),
        kind(ErrorKind::ContextLength),
        coded(400, "context_length_exceeded"),
    ];
    assert_rows(rows, FREE).await;
}

#[tokio::test(start_paused = true)]
async fn conflicts_are_retried_once_and_nobody_is_blamed() {
    let expected = After { calls: 2, ..FREE };
    assert_rows([status(409), status(425)], expected).await;
}

#[tokio::test(start_paused = true)]
async fn unusable_answers_count_and_are_not_retried() {
    let rows = [
        kind(ErrorKind::BadResponse),
        kind(ErrorKind::Truncated),
        kind(ErrorKind::Empty),
        status(302),
        coded(400, "tool_use_failed"),
    ];
    let expected = After {
        failures: 1,
        ..FREE
    };
    assert_rows(rows, expected).await;
}

#[tokio::test(start_paused = true)]
async fn an_untrusted_certificate_is_not_retried_and_benches_for_five_minutes() {
    let expected = After {
        benched: 300,
        ..FREE
    };
    assert_rows([kind(ErrorKind::Tls)], expected).await;
}

#[tokio::test(start_paused = true)]
async fn a_missing_or_refused_key_advances_and_benches_the_credential() {
    let rows = [
        status(401),
        coded(403, "invalid_api_key"),
        kind(ErrorKind::MissingKey),
        coded(400, "API_KEY_INVALID"),
    ];
    let expected = After {
        credential: 60,
        ..FREE
    };
    assert_rows(rows, expected).await;
}

#[tokio::test(start_paused = true)]
async fn any_other_403_advances_without_penalty() {
    let rows = [
        status(403),
        coded(403, "permission_error"),
        coded(403, "unsupported_country_region_territory"),
    ];
    assert_rows(rows, FREE).await;
}

#[tokio::test(start_paused = true)]
async fn an_empty_account_advances_and_benches_the_credential_for_longer() {
    let rows = [status(402), coded(429, "insufficient_quota")];
    let expected = After {
        credential: 300,
        ..FREE
    };
    assert_rows(rows, expected).await;
}

const STOPS: After = After {
    served_by_next: false,
    ..FREE
};

fn permanent() -> Vec<Step> {
    let mut steps: Vec<Step> = [400, 405, 413, 415, 422, 451].map(status).into();
    steps.push(coded(400, "content_policy_violation"));
    steps.push(kind(ErrorKind::Spec));
    steps
}

#[tokio::test(start_paused = true)]
async fn permanent_errors_fail_fast() {
    assert_rows(permanent(), STOPS).await;
}

#[tokio::test(start_paused = true)]
async fn permanent_errors_advance_without_penalty_when_configured() {
    for step in permanent() {
        let house = House::chained(ChainConfig {
            advance_on_permanent: true,
            ..ChainConfig::default()
        });
        let shown = format!("{step:?}");
        assert_eq!(outcome(&house, step).await, FREE, "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_callers_own_end_stops_the_chain_without_penalty() {
    let rows = [
        kind(ErrorKind::Cancelled),
        kind(ErrorKind::Deadline),
        kind(ErrorKind::Local),
    ];
    assert_rows(rows, STOPS).await;
}

#[tokio::test(start_paused = true)]
async fn the_callers_own_end_stops_the_chain_even_when_permanent_errors_advance() {
    for step in [kind(ErrorKind::Cancelled), kind(ErrorKind::Deadline)] {
        let house = House::chained(ChainConfig {
            advance_on_permanent: true,
            ..ChainConfig::default()
        });
        assert_eq!(outcome(&house, step).await, STOPS);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_the_clients_own_key_is_returned_and_nobody_is_benched() {
    let refused = |status| Error::provider(status, "scripted").with_key_owner(KeyOwner::Client);
    let rows = [401, 402, 403].map(|status| Step::fail(refused(status)));
    assert_rows(rows, STOPS).await;
}

#[tokio::test(start_paused = true)]
async fn a_fast_failure_is_the_targets_own_error_with_the_attempts_so_far() {
    let house = House::new();
    house.script("gone", [status(404)]);
    house.script("a", [coded(422, "bad_field")]);

    let error = house.refused("fp/gone,fp/a,fp/b").await;

    assert_eq!(
        (error.status(), error.code()),
        (Some(422), Some("bad_field"))
    );
    assert_eq!(error.to_string(), "fp/a: HTTP 422 [bad_field]: scripted");
    assert_eq!(
        support::lines(error.attempt_log()),
        ["fp/gone failed ModelNotFound", "fp/a failed Invalid"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_that_never_left_is_sent_again_for_free() {
    let free = || kind(ErrorKind::NeverSent);
    let rows = [
        (0, vec![free()], "fp/a", 2),
        (1, vec![free(), status(500)], "fp/a", 3),
        (1, vec![status(500), free()], "fp/a", 3),
        (0, vec![free(), free()], "tail/x", 2),
    ];
    for (retries, steps, server, calls) in rows {
        let house = House::chained(ChainConfig {
            retries,
            ..ChainConfig::default()
        });
        let shown = format!("{retries} retries, {steps:?}");
        house.script("a", steps);
        assert_eq!(house.served_by("fp/a,tail/x").await, server, "{shown}");
        assert_eq!(house.fp.call_count("a"), calls, "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_never_left_is_nobodys_fault() {
    let expected = After { calls: 2, ..FREE };
    assert_rows([kind(ErrorKind::NeverSent)], expected).await;
}
