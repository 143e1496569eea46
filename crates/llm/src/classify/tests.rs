//! The classification tables, row by row.

use std::time::Duration;

use super::*;
use crate::Timer;

fn status(status: u16) -> Error {
    Error::http(status, "")
}

fn with_code(http: u16, code: &str) -> Error {
    status(http).with_code(code)
}

fn with_message(http: u16, text: &str) -> Error {
    Error::http(http, text)
}

fn with_delay(error: Error) -> Error {
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
        (ErrorKind::Overloaded, Class::Local),
        (ErrorKind::Internal, Class::Local),
        (ErrorKind::Denied, Class::Denied),
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
fn codes_take_precedence_over_statuses() {
    let rows = [
        (with_code(429, "insufficient_quota"), Class::Quota),
        (with_code(429, "credit_balance_exhausted"), Class::Quota),
        (with_code(429, "enforced_spend_limit_reached"), Class::Quota),
        (
            with_delay(with_code(429, "GenerateRequestsPerDayPerProject")),
            Class::Quota,
        ),
        (
            with_delay(with_code(429, "GenerateRequestsPerDayPerProjectPerModel")),
            Class::RateLimited,
        ),
        (
            with_code(429, "GenerateRequestsPerDayPerProjectPerModel"),
            Class::Transient,
        ),
        (with_code(400, "FAILED_PRECONDITION"), Class::Unsupported),
        (with_code(400, "API_KEY_INVALID"), Class::Auth),
        (with_code(400, "model_not_found"), Class::ModelNotFound),
        (
            with_code(400, "context_length_exceeded"),
            Class::ContextLength,
        ),
        (
            with_code(400, "exceed_context_size_error"),
            Class::ContextLength,
        ),
        (with_code(400, "unsupported_parameter"), Class::Unsupported),
        (with_code(400, "content_policy_violation"), Class::Policy),
        (with_code(400, "tool_use_failed"), Class::BadResponse),
        (with_code(404, "DeploymentNotFound"), Class::ModelNotFound),
        (with_code(200, "overloaded_error"), Class::Transient),
        (
            with_delay(with_code(200, "overloaded_error")),
            Class::RateLimited,
        ),
        (with_code(200, "api_error"), Class::Transient),
        (with_code(200, "invalid_request_error"), Class::Invalid),
        (with_code(200, "vector_store_timeout"), Class::Transient),
        (with_code(200, "invalid_base64_image"), Class::Invalid),
        (with_code(200, "failed_to_download_image"), Class::Invalid),
        (with_code(400, "image_parse_error"), Class::Invalid),
        (with_code(200, "unknown_code"), Class::BadResponse),
        (with_code(400, "invalid_request_error"), Class::Invalid),
        (with_code(403, "permission_error"), Class::Forbidden),
        (with_code(500, "api_error"), Class::Transient),
        (with_code(418, "unknown_code"), Class::Invalid),
    ];
    for (error, class) in rows {
        assert_eq!(error.class(), class, "{error}");
    }
}

#[test]
fn messages_decide_where_codes_do_not() {
    let rows = [
        (
            with_message(400, "prompt is too long: 9 tokens > 8 maximum"),
            Class::ContextLength,
        ),
        (
            with_message(400, "This model's maximum context length is 8192"),
            Class::ContextLength,
        ),
        (
            with_message(
                400,
                "The input token count (9) exceeds the maximum number of tokens allowed (8).",
            ),
            Class::ContextLength,
        ),
        (
            with_message(400, "Your credit balance is too low"),
            Class::Quota,
        ),
        (with_message(400, "Incorrect API key provided"), Class::Auth),
        (
            with_message(500, "image input is not supported - hint: mmproj"),
            Class::Unsupported,
        ),
        (
            with_message(500, "it does not support waiting"),
            Class::Transient,
        ),
        (
            with_message(400, "\"x\" does not support tools"),
            Class::Unsupported,
        ),
        (
            with_message(400, "temperature: Extra inputs are not permitted"),
            Class::Unsupported,
        ),
        (
            with_message(
                400,
                "Invalid JSON payload received. Unknown name \"topK\" at 'x'",
            ),
            Class::Unsupported,
        ),
        (
            with_message(400, "image exceeds 10 MB maximum"),
            Class::Unsupported,
        ),
        (
            with_message(500, "prompt is too long, says a broken proxy"),
            Class::Transient,
        ),
        (with_message(400, "something else"), Class::Invalid),
    ];
    for (error, class) in rows {
        assert_eq!(error.class(), class, "{error}");
    }
}

#[test]
fn throttling_is_a_rate_limit_only_with_a_delay() {
    for http in [429, 503, 529] {
        assert_eq!(
            with_delay(status(http)).class(),
            Class::RateLimited,
            "HTTP {http}"
        );
        assert_eq!(status(http).class(), Class::Transient, "HTTP {http}");
    }
    assert_eq!(with_delay(status(500)).class(), Class::Transient);
}

#[test]
fn a_rejected_client_key_is_the_clients_error() {
    for error in [
        status(401),
        status(403),
        status(402),
        with_code(429, "insufficient_quota"),
    ] {
        let error = error.with_key_owner(KeyOwner::Client);
        assert_eq!(error.class(), Class::ClientAuth, "{error}");
    }
    let paused = status(429).with_retry_after(Some(Duration::from_secs(7)));
    for limited in [status(429), paused] {
        let limited = limited.with_key_owner(KeyOwner::Client);
        assert_eq!(limited.class(), Class::ClientLimited, "{limited}");
    }
    for other in [500, 503, 529] {
        let other = status(other).with_key_owner(KeyOwner::Client);
        assert_eq!(other.class(), Class::Transient);
    }
}

#[test]
fn every_class_has_its_verdict() {
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
        Class::Denied,
    ] {
        assert_eq!(row(class), free, "{class:?}");
    }
    for class in [
        Class::ClientAuth,
        Class::ClientLimited,
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
