//! What an error means: retry here, try the next, whose health.
//!
//! One pure function decides, from what is known and nothing else. Codes are
//! matched before statuses and texts only last, because providers reuse both:
//! a 429 may be a rate, an overload or an empty account, and one provider says
//! "credit too low" as a 400.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind};

mod credential;

/// Whose key the failed request carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyOwner {
    /// The configured one: another target may still work.
    #[default]
    Ours,
    /// The client's own: the client must know.
    Client,
}

/// What kind of failure an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// It may work in a moment: 5xx, 408, connection trouble, an attempt's timer, the unknown.
    Transient,
    /// The answer was unusable: malformed, cut, a redirect.
    BadResponse,
    /// The answer said nothing, or the accept hook refused it.
    Empty,
    /// The server's certificate is not to be trusted.
    Tls,
    /// The provider asked to be left alone for a while.
    RateLimited,
    /// Our key is missing or refused.
    Auth,
    /// The client's own key is refused.
    ClientAuth,
    /// The account is out of money or quota.
    Quota,
    /// The provider refuses this request and blames neither key nor account (403):
    /// moderation, region, no access to the model.
    Forbidden,
    /// Two requests collided (409), or it is too early (425).
    Conflict,
    /// Nothing was sent: a dead pooled connection.
    NeverSent,
    /// The provider does not have the model.
    ModelNotFound,
    /// The target cannot take this request.
    Unsupported,
    /// The request is too long for the target's window.
    ContextLength,
    /// The request is wrong for any target.
    Invalid,
    /// The provider's policy forbids the request.
    Policy,
    /// The caller went away.
    Cancelled,
    /// The caller's deadline passed.
    Deadline,
    /// We refused it ourselves.
    Local,
}

/// Whether the same target is asked once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameTarget {
    /// It is not.
    No,
    /// It is, as often as the chain's retries allow.
    Retry,
    /// It is, once, without counting as a retry: it never saw the request.
    Free,
}

/// Whether the chain goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextTarget {
    /// To the next target.
    Advance,
    /// Only if the chain is configured to advance on permanent errors.
    IfConfigured,
    /// The error is the caller's.
    Stop,
}

/// What the failure does to the target's health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthEffect {
    /// Nothing: the target is not sick.
    None,
    /// One more consecutive failure.
    Count,
    /// Benched until the provider's own time is over, without counting.
    Throttle,
    /// Benched for a fixed time: asking again soon is useless.
    Bench(Duration),
    /// The credential is benched, with every target that uses it.
    BenchCredential(Duration),
}

/// What a class asks of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Ask the same target again?
    pub same_target: SameTarget,
    /// Go on to the next?
    pub next_target: NextTarget,
    /// Whose health?
    pub health: HealthEffect,
}

const TLS_BENCH: Duration = Duration::from_secs(300);
const AUTH_BENCH: Duration = Duration::from_secs(60);
const QUOTA_BENCH: Duration = Duration::from_secs(300);

impl Class {
    /// Whether the target is well but cannot serve this request at all.
    pub fn is_incapable(self) -> bool {
        matches!(
            self,
            Self::ModelNotFound | Self::Unsupported | Self::ContextLength
        )
    }

    /// What the chain does about it.
    pub fn verdict(self) -> Verdict {
        use HealthEffect as Health;
        let (same_target, next_target, health) = match self {
            Self::Transient => (SameTarget::Retry, NextTarget::Advance, Health::Count),
            Self::BadResponse | Self::Empty => (SameTarget::No, NextTarget::Advance, Health::Count),
            Self::Tls => (
                SameTarget::No,
                NextTarget::Advance,
                Health::Bench(TLS_BENCH),
            ),
            Self::RateLimited => (SameTarget::No, NextTarget::Advance, Health::Throttle),
            Self::Auth => (
                SameTarget::No,
                NextTarget::Advance,
                Health::BenchCredential(AUTH_BENCH),
            ),
            Self::Quota => (
                SameTarget::No,
                NextTarget::Advance,
                Health::BenchCredential(QUOTA_BENCH),
            ),
            Self::Conflict => (SameTarget::Retry, NextTarget::Advance, Health::None),
            Self::NeverSent => (SameTarget::Free, NextTarget::Advance, Health::None),
            Self::Forbidden | Self::ModelNotFound | Self::Unsupported | Self::ContextLength => {
                (SameTarget::No, NextTarget::Advance, Health::None)
            }
            Self::Invalid | Self::Policy => {
                (SameTarget::No, NextTarget::IfConfigured, Health::None)
            }
            Self::ClientAuth | Self::Cancelled | Self::Deadline | Self::Local => {
                (SameTarget::No, NextTarget::Stop, Health::None)
            }
        };
        Verdict {
            same_target,
            next_target,
            health,
        }
    }
}

/// Classifies an error; see `docs/adr/0007-errors-are-classified-once.md`.
pub fn classify(error: &Error) -> Class {
    match error.kind() {
        ErrorKind::Connect | ErrorKind::Dns | ErrorKind::ConnectionLost => Class::Transient,
        ErrorKind::Timeout(_) => Class::Transient,
        ErrorKind::Tls => Class::Tls,
        ErrorKind::NeverSent => Class::NeverSent,
        ErrorKind::BadResponse | ErrorKind::Truncated => Class::BadResponse,
        ErrorKind::Empty | ErrorKind::Refused => Class::Empty,
        ErrorKind::Unsupported => Class::Unsupported,
        ErrorKind::ModelNotFound => Class::ModelNotFound,
        ErrorKind::ContextLength => Class::ContextLength,
        ErrorKind::MissingKey => Class::Auth,
        ErrorKind::Cancelled => Class::Cancelled,
        ErrorKind::Deadline => Class::Deadline,
        ErrorKind::Spec => Class::Invalid,
        // The gateway's own word about its client's key.
        ErrorKind::Local if error.key_owner() == KeyOwner::Client => Class::ClientAuth,
        ErrorKind::Local | ErrorKind::Exhausted => Class::Local,
        // Without a time, so that nobody is benched for being popular.
        ErrorKind::Busy => Class::RateLimited,
        ErrorKind::Provider | ErrorKind::Unknown => by_answer(error),
    }
}

fn by_answer(error: &Error) -> Class {
    let code = error.code().filter(|_| !is_above_every_rate(error));
    let class = code
        .and_then(|code| by_code(code, error))
        .or_else(|| by_text(error))
        .unwrap_or_else(|| by_status(error));
    match (class, error.key_owner()) {
        (Class::Auth | Class::Quota | Class::Forbidden, KeyOwner::Client) => Class::ClientAuth,
        (class, _) => class,
    }
}

/// Whether one request alone is above a limit of tokens a minute. OpenAI and Groq call
/// that a rate limit, but waiting does not help, and others are not affected.
fn is_above_every_rate(error: &Error) -> bool {
    matches!(error.status(), Some(413 | 429)) && error.message().starts_with("Request too large")
}

/// The codes that mean something whatever the status says. Names that merely
/// repeat a status (`not_found_error`, `api_error`) are only used without one.
fn by_code(code: &str, error: &Error) -> Option<Class> {
    Some(match code {
        code if credential::is_blamed_by(code) => Class::Auth,
        code if credential::is_spent_by(code) => Class::Quota,
        "context_length_exceeded" | "exceed_context_size_error" | "too_many_prompt_tokens" => {
            Class::ContextLength
        }
        "model_not_found" | "DeploymentNotFound" => Class::ModelNotFound,
        "unsupported_parameter"
        | "unsupported_value"
        | "not_supported_error"
        | "image_too_large"
        | "image_file_too_large"
        | "unsupported_image_media_type"
        | "invalid_image_format" => Class::Unsupported,
        "content_filter"
        | "content_policy_violation"
        | "image_content_policy_violation"
        | "misalignment_policy_violation"
        | "cyber_policy"
        | "bio_policy"
        | "invalid_prompt" => Class::Policy,
        // Google, for an account that must pay and for a file that is not ready yet.
        "FAILED_PRECONDITION" => by_text(error).unwrap_or(Class::Unsupported),
        "tool_use_failed" => Class::BadResponse,
        "overloaded_error"
        | "server_is_overloaded"
        | "slow_down"
        | "unavailable_error"
        | "UNAVAILABLE"
        | "rate_limit_error"
        | "rate_limit_exceeded"
        | "RESOURCE_EXHAUSTED" => throttled(error),
        _ if error.status().is_some_and(|status| status >= 300) => return None,
        "api_error"
        | "server_error"
        | "timeout_error"
        | "vector_store_timeout"
        | "INTERNAL"
        | "DEADLINE_EXCEEDED" => Class::Transient,
        "permission_error" | "PERMISSION_DENIED" => Class::Forbidden,
        "not_found_error" | "NOT_FOUND" => Class::ModelNotFound,
        "invalid_request_error"
        | "request_too_large"
        | "INVALID_ARGUMENT"
        | "data_residency_mismatch"
        | "invalid_image"
        | "invalid_image_mode"
        | "invalid_image_url"
        | "invalid_base64_image"
        | "image_too_small"
        | "image_parse_error"
        | "image_file_not_found"
        | "empty_image_file"
        | "failed_to_download_image" => Class::Invalid,
        _ => return None,
    })
}

/// The last resort, for providers that say it only in prose.
///
/// Messages may repeat what a client sent. So what only moves the request on may
/// stand anywhere in them, but what benches a credential must be how they begin.
fn by_text(error: &Error) -> Option<Class> {
    const ANYWHERE: &[(&str, Class)] = &[
        ("maximum context length", Class::ContextLength),
        ("prompt is too long", Class::ContextLength),
        ("prompt too long", Class::ContextLength),
        ("exceeds the maximum number of tokens", Class::ContextLength),
        ("exceeds the context window", Class::ContextLength),
        ("exceeds the context length", Class::ContextLength),
        ("please reduce the length", Class::ContextLength),
        ("not supported for this model", Class::Unsupported),
        ("does not support", Class::Unsupported),
        ("extra inputs are not permitted", Class::Unsupported),
        ("unknown name \"", Class::Unsupported),
        ("image exceeds", Class::Unsupported),
        ("image dimensions exceed", Class::Unsupported),
        ("many-image requests", Class::Unsupported),
        ("location is not supported", Class::Forbidden),
    ];
    const AT_THE_START: &[(&str, Class)] = &[
        ("your credit balance is too low", Class::Quota),
        (
            "you have reached your specified api usage limits",
            Class::Quota,
        ),
        (
            "your organization has reached its spend limit",
            Class::Quota,
        ),
        (
            "this organization has reached its spend limit",
            Class::Quota,
        ),
        ("gemini api free tier is not available", Class::Quota),
        ("incorrect api key", Class::Auth),
        ("api key not valid", Class::Auth),
        ("api key expired", Class::Auth),
    ];
    let text = error.message().to_lowercase();
    match error.status() {
        // llama.cpp's word for a model without eyes; asking it again is useless.
        Some(500) if text.contains("image input is not supported") => Some(Class::Unsupported),
        Some(413 | 429) if is_above_every_rate(error) => Some(Class::ContextLength),
        // OpenRouter: the account has money, but less than this request may cost.
        Some(402) if text.contains("fewer max_tokens") => Some(Class::Unsupported),
        Some(400 | 413 | 422 | 501) => {
            let text = text.trim_start();
            let starts = AT_THE_START
                .iter()
                .find(|(start, _)| text.starts_with(start));
            let holds = || ANYWHERE.iter().find(|(part, _)| text.contains(part));
            starts.or_else(holds).map(|(_, class)| *class)
        }
        _ => None,
    }
}

fn by_status(error: &Error) -> Class {
    match error.status() {
        Some(401) => Class::Auth,
        Some(403) => Class::Forbidden,
        Some(402) => Class::Quota,
        Some(404) => Class::ModelNotFound,
        Some(408) => Class::Transient,
        Some(409 | 425) => Class::Conflict,
        Some(429 | 503 | 529) => throttled(error),
        Some(501) => Class::Unsupported,
        Some(400..=499) => Class::Invalid,
        Some(500..=599) => Class::Transient,
        // An error inside a 200, a redirect, a status that does not exist.
        Some(_) => Class::BadResponse,
        None => Class::Transient,
    }
}

/// Throttling with a time is obeyed; without one it is like any 5xx.
fn throttled(error: &Error) -> Class {
    match error.retry_after() {
        Some(_) => Class::RateLimited,
        None => Class::Transient,
    }
}

#[cfg(test)]
mod tests;
