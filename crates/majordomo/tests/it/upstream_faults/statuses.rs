//! Responses with an error status.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use majordomo::chain::ChainConfig;
use majordomo::providers::ProviderKind;
use majordomo::{Class, ErrorKind, Request};
use majordomo_testkit::Upstream;

use super::harness::{
    After, FREE, FaultHarness, HELLO, Head, RETRIED, SERVED, config, json, with_headers,
};

const SECOND: Duration = Duration::from_secs(1);

/// Benched by its Retry-After, without a failure.
fn throttled(wait: Duration) -> After {
    After {
        class: Some(Class::RateLimited),
        benched: wait,
        ..FREE
    }
}

/// An invalid request.
const INVALID: After = After {
    served_by: "none",
    class: Some(Class::Invalid),
    ..FREE
};

/// The outcome of a request with this response.
async fn after(kind: ProviderKind, status: u16, body: &str) -> After {
    let upstream = Upstream::start([json(status, body)]).await;
    Head::at(upstream.uri("")).kind(kind).harness().send().await
}

#[tokio::test]
async fn a_408_is_retried_once_and_counts() {
    assert_eq!(after(ProviderKind::OpenAi, 408, "{}").await, RETRIED);
}

/// Retried, no penalty.
const CONFLICT: After = After {
    calls: 2,
    class: Some(Class::Conflict),
    ..FREE
};

#[tokio::test]
async fn a_409_is_retried_once_and_does_not_count() {
    assert_eq!(after(ProviderKind::OpenAi, 409, "{}").await, CONFLICT);
}

#[tokio::test]
async fn a_425_is_retried_once_and_does_not_count() {
    assert_eq!(after(ProviderKind::OpenAi, 425, "{}").await, CONFLICT);
}

#[tokio::test]
async fn a_429_with_retry_after_benches_exactly_that_long() {
    let scripts = [with_headers(429, &["retry-after: 7"]), json(200, HELLO)];
    let (upstream, harness) = FaultHarness::playing(scripts).await;
    assert_eq!(harness.send().await, throttled(7 * SECOND));

    harness.clock.advance(7 * SECOND - Duration::from_millis(1));
    assert_eq!(harness.send().await.calls, 0, "it is still benched");
    assert_eq!(upstream.requests().len(), 1);

    harness.clock.advance(Duration::from_millis(1));
    assert_eq!(harness.send().await, SERVED);
}

#[tokio::test]
async fn an_exhausted_chain_reports_the_shortest_retry_after() {
    let (_upstream, harness) =
        FaultHarness::playing([with_headers(429, &["retry-after: 7"])]).await;
    let alone = harness.chain("head/m").generate(Request::user("hi")).await;
    let error = alone.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    assert_eq!(error.retry_after(), Some(7 * SECOND));
}

/// Sun, 06 Nov 1994 08:49:37 GMT.
fn november() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777)
}

#[tokio::test]
async fn every_form_of_retry_after_is_decoded() {
    let hour = 3_600 * SECOND;
    let rows: &[(&[&str], After)] = &[
        (
            &["retry-after: Sun, 06 Nov 1994 08:50:07 GMT"],
            throttled(30 * SECOND),
        ),
        (
            &["retry-after: Sun, 06 Nov 1994 08:00:00 GMT"],
            throttled(Duration::ZERO),
        ),
        (
            &["retry-after: Fri, 31 Dec 9999 23:59:59 GMT"],
            throttled(hour),
        ),
        (&["retry-after: -1"], RETRIED),
        (&["retry-after: 1e9"], throttled(hour)),
        (&["retry-after: abc"], RETRIED),
        (&["retry-after: 0"], throttled(Duration::ZERO)),
        (
            &["retry-after: abc", "retry-after: 9", "retry-after: 7"],
            throttled(9 * SECOND),
        ),
        (
            &["retry-after: 7", "retry-after-ms: 250"],
            throttled(SECOND / 4),
        ),
        (&["retry-after: 1.5"], throttled(3 * SECOND / 2)),
    ];
    for (headers, expected) in rows {
        let upstream = Upstream::start([with_headers(429, headers)]).await;
        let config = config().wall_clock(november);
        let harness = Head::at(upstream.uri("")).config(config).harness();
        assert_eq!(&harness.send().await, expected, "{headers:?}");
    }
}

/// The wall clock in Unix seconds; tests set it.
static WALL_CLOCK: AtomicU64 = AtomicU64::new(0);

fn test_clock() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(WALL_CLOCK.load(Ordering::Relaxed))
}

/// The Retry-After date is 30 s after the true time. With a wrong clock the wait is between
/// nothing and an hour, and no jump ends a bench.
#[tokio::test]
async fn a_jumping_wall_clock_neither_lengthens_nor_ends_a_bench() {
    const RIGHT: u64 = 784_111_777;
    let date = "retry-after: Sun, 06 Nov 1994 08:50:07 GMT";
    let hour = 3_600 * SECOND;
    for (shown, expected) in [
        (RIGHT, 30 * SECOND),
        (RIGHT + 3_600, Duration::ZERO),
        (RIGHT - 3_600, hour),
        (0, hour),
        (253_402_300_799, Duration::ZERO),
    ] {
        WALL_CLOCK.store(shown, Ordering::Relaxed);
        let scripts = [with_headers(429, &[date]), json(200, HELLO)];
        let upstream = Upstream::start(scripts).await;
        let config = config().wall_clock(test_clock);
        let harness = Head::at(upstream.uri("")).config(config).harness();
        assert_eq!(harness.send().await, throttled(expected), "{shown}");
        for jump in [RIGHT + 3_600, RIGHT - 3_600, 0, 253_402_300_799] {
            WALL_CLOCK.store(jump, Ordering::Relaxed);
            assert_eq!(harness.benched("head/m"), expected, "{shown}, then {jump}");
        }
        if !expected.is_zero() {
            harness.clock.advance(expected - Duration::from_millis(1));
            assert_eq!(
                harness.send().await.calls,
                0,
                "{shown}: it is still benched"
            );
            harness.clock.advance(Duration::from_millis(1));
        }
        assert_eq!(harness.send().await, SERVED, "{shown}");
    }
}

#[tokio::test]
async fn exhausted_credit_benches_the_credential_not_the_model() {
    let rows = [
        (
            ProviderKind::OpenAi,
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
        ),
        (
            ProviderKind::OpenAi,
            429,
            r#"{"error":{"message":"No credit left","type":"billing","code":"credit_balance_exhausted"}}"#,
        ),
        (
            ProviderKind::OpenAi,
            429,
            r#"{"error":{"message":"The spend limit of this project was reached","type":"requests","code":"billing_hard_limit_reached"}}"#,
        ),
        (
            ProviderKind::OpenAi,
            402,
            r#"{"error":{"message":"Insufficient credits","code":402}}"#,
        ),
        (
            ProviderKind::Anthropic,
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","error_code":"enforced_spend_limit_reached","message":"Your organization reached its limit"}}"#,
        ),
        (
            ProviderKind::Anthropic,
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}"#,
        ),
    ];
    let expected = After {
        class: Some(Class::Quota),
        credential: 300 * SECOND,
        ..FREE
    };
    for (kind, status, body) in rows {
        assert_eq!(after(kind, status, body).await, expected, "{body}");
    }
}

#[tokio::test]
async fn the_other_models_of_an_exhausted_account_are_not_called() {
    let body = r#"{"error":{"message":"no","code":"insufficient_quota"}}"#;
    let (upstream, harness) = FaultHarness::playing([json(429, body)]).await;
    let chain = harness.chain("head/m,head/n,tail/m");
    let reply = chain.generate(Request::user("hi")).await.unwrap();
    assert_eq!(reply.model, "tail/m");
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn a_5xx_is_retried_once_and_counts() {
    for status in [500, 502, 503, 504, 529] {
        assert_eq!(
            after(ProviderKind::OpenAi, status, "{}").await,
            RETRIED,
            "{status}"
        );
    }
}

#[tokio::test]
async fn retry_after_is_honored_on_overload_and_lengthens_the_bench_of_other_errors() {
    let lengthened = After {
        benched: 7 * SECOND,
        ..RETRIED
    };
    for (status, expected) in [
        (503, throttled(7 * SECOND)),
        (529, throttled(7 * SECOND)),
        (500, lengthened.clone()),
        (502, lengthened.clone()),
        (504, lengthened),
    ] {
        let (_upstream, harness) =
            FaultHarness::playing([with_headers(status, &["retry-after: 7"])]).await;
        assert_eq!(harness.send().await, expected, "{status}");
    }
}

#[tokio::test]
async fn a_rejected_key_benches_the_credential_and_the_next_target_serves() {
    let rows = [
        (
            ProviderKind::OpenAi,
            401,
            r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}"#,
        ),
        (
            ProviderKind::OpenAi,
            403,
            r#"{"error":{"message":"Forbidden","code":"account_deactivated"}}"#,
        ),
        (
            ProviderKind::Anthropic,
            401,
            r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
        ),
        (
            ProviderKind::Google,
            403,
            r#"{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_SERVICE_BLOCKED"}]}}"#,
        ),
        (
            ProviderKind::Google,
            400,
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}"#,
        ),
        (
            ProviderKind::OllamaCloud,
            401,
            r#"{"error":"unauthorized"}"#,
        ),
    ];
    let expected = After {
        class: Some(Class::Auth),
        credential: 60 * SECOND,
        ..FREE
    };
    for (kind, status, body) in rows {
        assert_eq!(after(kind, status, body).await, expected, "{body}");
    }
}

#[tokio::test]
async fn a_403_that_names_neither_key_nor_account_benches_nothing() {
    let rows = [
        (ProviderKind::OpenAi, r#"{"error":{"message":"Forbidden"}}"#),
        (
            ProviderKind::OpenAi,
            r#"{"error":{"message":"Country, region, or territory not supported","type":"request_forbidden","code":"unsupported_country_region_territory"}}"#,
        ),
        (
            ProviderKind::OpenAi,
            r#"{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged","metadata":{"reasons":["violence"],"flagged_input":"invalid_api_key"}}}"#,
        ),
        (
            ProviderKind::Anthropic,
            r#"{"type":"error","error":{"type":"permission_error","message":"no"}}"#,
        ),
        (
            ProviderKind::Google,
            r#"{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}"#,
        ),
        (
            ProviderKind::OllamaCloud,
            r#"{"error":"cloud models are disabled"}"#,
        ),
        (ProviderKind::OpenAi, "<html>403 Forbidden</html>"),
    ];
    let expected = After {
        class: Some(Class::Forbidden),
        ..FREE
    };
    for (kind, body) in rows {
        assert_eq!(after(kind, 403, body).await, expected, "{body}");
    }
}

#[tokio::test]
async fn a_thousand_bad_requests_get_a_thousand_errors_and_bench_nothing() {
    let body = r#"{"error":{"message":"bad","type":"invalid_request_error","code":null}}"#;
    for (status, repeats) in [(400, 1_000), (413, 50), (422, 50)] {
        let (upstream, harness) = FaultHarness::playing([json(status, body).times(repeats)]).await;
        for _ in 0..repeats {
            assert_eq!(harness.send().await, INVALID, "{status}");
        }
        assert_eq!(upstream.requests().len(), repeats, "{status}");
        assert_eq!(harness.tail.call_count("m"), 0, "{status}");
    }
}

#[tokio::test]
async fn an_incapable_target_is_skipped_without_penalty() {
    let rows = [
        (
            ProviderKind::OpenAi,
            404,
            r#"{"error":{"message":"The model `m` does not exist","type":"invalid_request_error","code":"model_not_found"}}"#,
            Class::ModelNotFound,
        ),
        (
            ProviderKind::Anthropic,
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: m"}}"#,
            Class::ModelNotFound,
        ),
        (
            ProviderKind::OllamaCloud,
            404,
            r#"{"error":"model 'm' not found"}"#,
            Class::ModelNotFound,
        ),
        (
            ProviderKind::OpenAi,
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            Class::ContextLength,
        ),
        (
            ProviderKind::Anthropic,
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#,
            Class::ContextLength,
        ),
        (
            ProviderKind::OpenAi,
            400,
            r#"{"error":{"message":"request (5031 tokens) exceeds the available context size (2048 tokens), try increasing it","type":"exceed_context_size_error","code":400}}"#,
            Class::ContextLength,
        ),
        (
            ProviderKind::OpenAi,
            400,
            r#"{"error":{"message":"unsupported image","code":"invalid_image_format"}}"#,
            Class::Unsupported,
        ),
        (
            ProviderKind::OpenAi,
            500,
            r#"{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}"#,
            Class::Unsupported,
        ),
    ];
    for (kind, status, body, class) in rows {
        let expected = After {
            class: Some(class),
            ..FREE
        };
        assert_eq!(after(kind, status, body).await, expected, "{body}");
    }
}

#[tokio::test]
async fn an_incapable_last_target_is_reported_with_its_own_message() {
    let body = r#"{"error":{"message":"The model `m` does not exist","code":"model_not_found"}}"#;
    let (_upstream, harness) = FaultHarness::playing([json(404, body)]).await;
    let alone = harness.chain("head/m").generate(Request::user("hi")).await;
    let error = alone.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    assert!(error.to_string().contains("does not exist"), "{error}");
}

const FILTERED: &str = r#"{"error":{"message":"The response was filtered","type":null,"code":"content_filter","status":400}}"#;

#[tokio::test]
async fn a_content_policy_error_goes_to_the_caller_without_penalty() {
    let expected = After {
        class: Some(Class::Policy),
        ..INVALID
    };
    assert_eq!(after(ProviderKind::OpenAi, 400, FILTERED).await, expected);
}

#[tokio::test]
async fn a_content_policy_error_advances_if_configured() {
    let upstream = Upstream::start([json(400, FILTERED)]).await;
    let harness = Head::at(upstream.uri(""))
        .harness_with(ChainConfig::default().with_advance_on_permanent(true));
    let expected = After {
        class: Some(Class::Policy),
        ..FREE
    };
    assert_eq!(harness.send().await, expected);
}
