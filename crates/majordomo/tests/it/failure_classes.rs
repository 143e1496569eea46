//! The failure classes: how often the head is called, whether the next target serves, and the
//! head's health afterwards.

use crate::support::{Fixture, coded, kind, secs, status, status_after};
use majordomo::chain::ChainConfig;
use majordomo::fake::Step;
use majordomo::llm::{KeyOwner, Timer};
use majordomo::{Error, ErrorKind, Request};

/// The outcome of a request to `fp/a,tail/x` in which every call of `fp/a` fails alike.
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

async fn outcome(fixture: &Fixture, step: Step) -> After {
    fixture.fp.otherwise(move |_| step.clone());
    let served = fixture.send("fp/a,tail/x").await;
    After {
        calls: fixture.fp.call_count("a"),
        served_by_next: served.is_ok_and(|reply| reply.model == "tail/x"),
        failures: fixture.health("fp/a").failures,
        benched: fixture.benched_secs("fp/a"),
        credential: fixture.benched_secs("fp"),
    }
}

async fn assert_rows(rows: impl IntoIterator<Item = Step>, expected: After) {
    for step in rows {
        let shown = format!("{step:?}");
        assert_eq!(outcome(&Fixture::new(), step).await, expected, "{shown}");
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
async fn throttling_with_retry_after_benches_that_long_and_does_not_count() {
    let overloaded = Error::http(200, "scripted")
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
async fn a_retry_after_is_honored_for_an_hour_at_most() {
    let fixture = Fixture::new();
    let after = outcome(&fixture, status_after(429, 86_400)).await;
    assert_eq!(after.benched, 3_600);
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_on_408_is_retried_and_only_lengthens_the_bench() {
    let longer = outcome(&Fixture::new(), status_after(408, 60)).await;
    assert_eq!((longer.calls, longer.benched), (2, 60));
    let shorter = outcome(&Fixture::new(), status_after(408, 1)).await;
    assert_eq!((shorter.calls, shorter.benched), (2, 5));
}

#[tokio::test(start_paused = true)]
async fn not_found_unsupported_and_too_long_advance_without_penalty() {
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
async fn conflicts_are_retried_once_without_penalty() {
    let expected = After { calls: 2, ..FREE };
    assert_rows([status(409), status(425)], expected).await;
}

#[tokio::test(start_paused = true)]
async fn bad_responses_count_and_are_not_retried() {
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
async fn a_missing_or_rejected_key_advances_and_benches_the_credential() {
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
async fn an_exhausted_account_advances_and_benches_the_credential_for_longer() {
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
async fn the_error_of_a_request_that_fails_fast_names_the_targets_it_did_not_reach() {
    let fixture = Fixture::new();
    fixture
        .script("a", [status(404)])
        .script("b", [status(400)]);
    let chain = fixture.chain("fp/a,fp/b,fp/c,fp/d");
    let error = chain.generate(Request::user("hi")).await.unwrap_err();
    assert_eq!(error.attempt_log().not_reached, ["fp/c", "fp/d"]);
    assert_eq!(
        error.report(),
        "fp/b: HTTP 400: scripted; before it, fp/a: HTTP 404: scripted; not reached: fp/c, fp/d"
    );
}

#[tokio::test(start_paused = true)]
async fn permanent_errors_advance_without_penalty_when_configured() {
    for step in permanent() {
        let fixture = Fixture::chained(ChainConfig::default().with_advance_on_permanent(true));
        let shown = format!("{step:?}");
        assert_eq!(outcome(&fixture, step).await, FREE, "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_callers_cancellation_or_deadline_stops_the_chain_without_penalty() {
    let rows = [
        kind(ErrorKind::Cancelled),
        kind(ErrorKind::Deadline),
        kind(ErrorKind::Overloaded),
    ];
    assert_rows(rows, STOPS).await;
}

#[tokio::test(start_paused = true)]
async fn the_callers_cancellation_or_deadline_stops_the_chain_even_if_permanent_errors_advance() {
    for step in [kind(ErrorKind::Cancelled), kind(ErrorKind::Deadline)] {
        let fixture = Fixture::chained(ChainConfig::default().with_advance_on_permanent(true));
        assert_eq!(outcome(&fixture, step).await, STOPS);
    }
}

#[tokio::test(start_paused = true)]
async fn a_rejection_of_the_clients_key_is_returned_and_benches_nothing() {
    let refused = |status| Error::http(status, "scripted").with_key_owner(KeyOwner::Client);
    let rows = [401, 402, 403].map(|status| Step::fail(refused(status)));
    assert_rows(rows, STOPS).await;
}

#[tokio::test(start_paused = true)]
async fn a_permanent_error_is_the_targets_own_with_the_attempts_so_far() {
    let fixture = Fixture::new();
    fixture.script("gone", [status(404)]);
    fixture.script("a", [coded(422, "bad_field")]);

    let error = fixture.refused("fp/gone,fp/a,fp/b").await;

    assert_eq!(
        (error.status(), error.code()),
        (Some(422), Some("bad_field"))
    );
    assert_eq!(error.to_string(), "fp/a: HTTP 422 [bad_field]: scripted");
    assert_eq!(
        crate::support::lines(error.attempt_log()),
        ["fp/gone failed ModelNotFound", "fp/a failed Invalid"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_unsent_request_is_retried_for_free() {
    let free = || kind(ErrorKind::NeverSent);
    let rows = [
        (0, vec![free()], "fp/a", 2),
        (1, vec![free(), status(500)], "fp/a", 3),
        (1, vec![status(500), free()], "fp/a", 3),
        (0, vec![free(), free()], "tail/x", 2),
    ];
    for (retries, steps, server, calls) in rows {
        let fixture = Fixture::chained(ChainConfig::default().with_retries(retries));
        let shown = format!("{retries} retries, {steps:?}");
        fixture.script("a", steps);
        assert_eq!(fixture.served_by("fp/a,tail/x").await, server, "{shown}");
        assert_eq!(fixture.fp.call_count("a"), calls, "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unsent_request_carries_no_penalty() {
    let expected = After { calls: 2, ..FREE };
    assert_rows([kind(ErrorKind::NeverSent)], expected).await;
}
