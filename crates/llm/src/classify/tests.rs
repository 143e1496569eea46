//! The tables of the specification, row by row.

use std::time::Duration;

use super::*;
use crate::Timer;

fn status(status: u16) -> Error {
    Error::provider(status, "")
}

fn coded(http: u16, code: &str) -> Error {
    status(http).with_code(code)
}

fn said(http: u16, text: &str) -> Error {
    Error::provider(http, text)
}

fn waiting(error: Error) -> Error {
    error.with_retry_after(Some(Duration::from_secs(7)))
}

fn kind(kind: ErrorKind) -> Error {
    Error::new(kind, "")
}

#[test]
fn every_status_has_its_class() {
    let named: &[(u16, Class)] = &[
        (301, Class::BadResponse),
        (307, Class::BadResponse),
        (400, Class::Invalid),
        (401, Class::Auth),
        (402, Class::Quota),
        (403, Class::Forbidden),
        (404, Class::ModelNotFound),
        (405, Class::Invalid),
        (408, Class::Transient),
        (409, Class::Conflict),
        (413, Class::Invalid),
        (415, Class::Invalid),
        (422, Class::Invalid),
        (425, Class::Conflict),
        (429, Class::Transient),
        (451, Class::Invalid),
        (500, Class::Transient),
        (501, Class::Unsupported),
        (502, Class::Transient),
        (503, Class::Transient),
        (504, Class::Transient),
        (520, Class::Transient),
        (529, Class::Transient),
    ];
    for (http, class) in named {
        assert_eq!(status(*http).class(), *class, "HTTP {http}");
    }
    for http in 100..=599 {
        let class = status(http).class();
        match http {
            400..=499 => assert!(!matches!(class, Class::BadResponse), "HTTP {http}"),
            500..=599 if http != 501 => assert_eq!(class, Class::Transient, "HTTP {http}"),
            100..=399 => assert_eq!(class, Class::BadResponse, "HTTP {http}"),
            _ => {}
        }
    }
}

#[test]
fn every_kind_without_a_status_has_its_class() {
    let rows = [
        (ErrorKind::Connect, Class::Transient),
        (ErrorKind::Dns, Class::Transient),
        (ErrorKind::ConnectionLost, Class::Transient),
        (ErrorKind::Timeout(Timer::Connect), Class::Transient),
        (ErrorKind::Timeout(Timer::FirstByte), Class::Transient),
        (ErrorKind::Timeout(Timer::FirstEvent), Class::Transient),
        (ErrorKind::Timeout(Timer::Idle), Class::Transient),
        (ErrorKind::Timeout(Timer::EventIdle), Class::Transient),
        (ErrorKind::Timeout(Timer::Write), Class::Transient),
        (ErrorKind::Timeout(Timer::Total), Class::Transient),
        (ErrorKind::Tls, Class::Tls),
        (ErrorKind::NeverSent, Class::NeverSent),
        (ErrorKind::BadResponse, Class::BadResponse),
        (ErrorKind::Truncated, Class::BadResponse),
        (ErrorKind::Empty, Class::Empty),
        (ErrorKind::Refused, Class::Empty),
        (ErrorKind::Unsupported, Class::Unsupported),
        (ErrorKind::ModelNotFound, Class::ModelNotFound),
        (ErrorKind::ContextLength, Class::ContextLength),
        (ErrorKind::MissingKey, Class::Auth),
        (ErrorKind::Cancelled, Class::Cancelled),
        (ErrorKind::Deadline, Class::Deadline),
        (ErrorKind::Spec, Class::Invalid),
        (ErrorKind::Local, Class::Local),
        (ErrorKind::Busy, Class::RateLimited),
        (ErrorKind::Exhausted, Class::Local),
        (ErrorKind::Provider, Class::Transient),
        (ErrorKind::Unknown, Class::Transient),
    ];
    for (given, class) in rows {
        assert_eq!(kind(given).class(), class, "{given:?}");
    }
}

#[test]
fn codes_decide_before_statuses() {
    let rows = [
        (coded(429, "insufficient_quota"), Class::Quota),
        (coded(429, "credit_balance_exhausted"), Class::Quota),
        (coded(429, "enforced_spend_limit_reached"), Class::Quota),
        (
            waiting(coded(429, "GenerateRequestsPerDayPerProject")),
            Class::Quota,
        ),
        (
            waiting(coded(429, "GenerateRequestsPerDayPerProjectPerModel")),
            Class::RateLimited,
        ),
        (
            coded(429, "GenerateRequestsPerDayPerProjectPerModel"),
            Class::Transient,
        ),
        (coded(400, "FAILED_PRECONDITION"), Class::Unsupported),
        (coded(400, "API_KEY_INVALID"), Class::Auth),
        (coded(400, "model_not_found"), Class::ModelNotFound),
        (coded(400, "context_length_exceeded"), Class::ContextLength),
        (
            coded(400, "exceed_context_size_error"),
            Class::ContextLength,
        ),
        (coded(400, "unsupported_parameter"), Class::Unsupported),
        (coded(400, "content_policy_violation"), Class::Policy),
        (coded(400, "tool_use_failed"), Class::BadResponse),
        (coded(404, "DeploymentNotFound"), Class::ModelNotFound),
        (coded(200, "overloaded_error"), Class::Transient),
        (waiting(coded(200, "overloaded_error")), Class::RateLimited),
        (coded(200, "api_error"), Class::Transient),
        (coded(200, "invalid_request_error"), Class::Invalid),
        (coded(200, "vector_store_timeout"), Class::Transient),
        (coded(200, "invalid_base64_image"), Class::Invalid),
        (coded(200, "failed_to_download_image"), Class::Invalid),
        (coded(400, "image_parse_error"), Class::Invalid),
        (coded(200, "made_up"), Class::BadResponse),
        (coded(400, "invalid_request_error"), Class::Invalid),
        (coded(403, "permission_error"), Class::Forbidden),
        (coded(500, "api_error"), Class::Transient),
        (coded(418, "made_up"), Class::Invalid),
    ];
    for (error, class) in rows {
        assert_eq!(error.class(), class, "{error}");
    }
}

#[test]
fn texts_decide_where_nothing_else_tells() {
    let rows = [
        (
            said(400, "prompt is too long: 9 tokens > 8 maximum"),
            Class::ContextLength,
        ),
        (
            said(400, "This model's maximum context length is 8192"),
            Class::ContextLength,
        ),
        (
            said(
                400,
                "The input token count (9) exceeds the maximum number of tokens allowed (8).",
            ),
            Class::ContextLength,
        ),
        (said(400, "Your credit balance is too low"), Class::Quota),
        (said(400, "Incorrect API key provided"), Class::Auth),
        (
            said(500, "image input is not supported - hint: mmproj"),
            Class::Unsupported,
        ),
        (said(500, "it does not support waiting"), Class::Transient),
        (
            said(400, "\"x\" does not support tools"),
            Class::Unsupported,
        ),
        (
            said(400, "temperature: Extra inputs are not permitted"),
            Class::Unsupported,
        ),
        (
            said(
                400,
                "Invalid JSON payload received. Unknown name \"topK\" at 'x'",
            ),
            Class::Unsupported,
        ),
        (said(400, "image exceeds 10 MB maximum"), Class::Unsupported),
        (
            said(500, "prompt is too long, says a broken proxy"),
            Class::Transient,
        ),
        (said(400, "something else"), Class::Invalid),
    ];
    for (error, class) in rows {
        assert_eq!(error.class(), class, "{error}");
    }
}

#[test]
fn throttling_is_obeyed_only_when_it_says_for_how_long() {
    for http in [429, 503, 529] {
        assert_eq!(
            waiting(status(http)).class(),
            Class::RateLimited,
            "HTTP {http}"
        );
        assert_eq!(status(http).class(), Class::Transient, "HTTP {http}");
    }
    assert_eq!(waiting(status(500)).class(), Class::Transient);
}

#[test]
fn a_refused_client_key_goes_back_to_the_client() {
    for error in [
        status(401),
        status(403),
        status(402),
        coded(429, "insufficient_quota"),
    ] {
        let error = error.with_key_owner(KeyOwner::Client);
        assert_eq!(error.class(), Class::ClientAuth, "{error}");
    }
    let other = status(500).with_key_owner(KeyOwner::Client);
    assert_eq!(other.class(), Class::Transient);
}

#[test]
fn every_class_has_the_verdict_of_the_design() {
    use HealthEffect as Health;
    let row = |class: Class| {
        let verdict = class.verdict();
        (verdict.same_target, verdict.next_target, verdict.health)
    };
    let counted = (SameTarget::Retry, NextTarget::Advance, Health::Count);
    let free = (SameTarget::No, NextTarget::Advance, Health::None);
    let stop = (SameTarget::No, NextTarget::Stop, Health::None);
    let fail_fast = (SameTarget::No, NextTarget::IfConfigured, Health::None);

    assert_eq!(row(Class::Transient), counted);
    for class in [Class::BadResponse, Class::Empty] {
        assert_eq!(
            row(class),
            (SameTarget::No, NextTarget::Advance, Health::Count)
        );
    }
    for class in [
        Class::Forbidden,
        Class::ModelNotFound,
        Class::Unsupported,
        Class::ContextLength,
    ] {
        assert_eq!(row(class), free, "{class:?}");
    }
    for class in [
        Class::ClientAuth,
        Class::Cancelled,
        Class::Deadline,
        Class::Local,
    ] {
        assert_eq!(row(class), stop, "{class:?}");
    }
    for class in [Class::Invalid, Class::Policy] {
        assert_eq!(row(class), fail_fast, "{class:?}");
    }
    assert_eq!(row(Class::RateLimited).2, Health::Throttle);
    assert_eq!(
        row(Class::Conflict),
        (SameTarget::Retry, NextTarget::Advance, Health::None)
    );
    assert_eq!(
        row(Class::NeverSent),
        (SameTarget::Free, NextTarget::Advance, Health::None)
    );
    assert!(matches!(row(Class::Tls).2, Health::Bench(_)));
    for class in [Class::Auth, Class::Quota] {
        assert!(
            matches!(row(class).2, Health::BenchCredential(_)),
            "{class:?}"
        );
    }
}

mod attribution;
