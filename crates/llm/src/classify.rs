//! Error classification: retry, fail over or stop, and the effect on health.
//!
//! A single pure function decides. The order is code, message, status, because
//! providers reuse statuses: a 429 may mean a rate limit, an overload or an exhausted
//! account, and one provider reports "credit too low" as a 400.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind};

mod credential;

/// The owner of the key that a request carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyOwner {
    /// The gateway's configured key. Another target may still work.
    #[default]
    Ours,
    /// The client's key. The client must be informed.
    Client,
}

/// The class of a failure, from which its [`Verdict`] follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Class {
    /// A retry may succeed: 5xx, 408, connection errors, timeouts, unknown errors.
    Transient,
    /// The response is unusable: malformed, truncated, a redirect.
    BadResponse,
    /// The response has no content, or the accept hook rejected it.
    Empty,
    /// The server's certificate is not trusted.
    Tls,
    /// The provider throttles, and states for how long.
    RateLimited,
    /// The gateway's key is missing or invalid.
    Auth,
    /// The client's key is invalid.
    ClientAuth,
    /// The client's key exceeds its rate limit.
    ClientLimited,
    /// The account's credit or quota is exhausted.
    Quota,
    /// The provider rejects this request, but not the key or account (403): moderation,
    /// region, no access to the model.
    Forbidden,
    /// A conflict (409) or a request sent too early (425).
    Conflict,
    /// Nothing was sent: the pooled connection was closed.
    NeverSent,
    /// The provider does not have the model.
    ModelNotFound,
    /// The target does not support the request.
    Unsupported,
    /// The request exceeds the target's context window.
    ContextLength,
    /// The request is invalid for any target.
    Invalid,
    /// The provider's policy forbids the request.
    Policy,
    /// A gate refused the attempt; nothing was sent.
    Denied,
    /// The caller cancelled the request.
    Cancelled,
    /// The caller's deadline passed.
    Deadline,
    /// This process is overloaded or failed, or the chain is exhausted: no single target is to
    /// blame.
    Local,
}

/// Whether to retry on the same target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameTarget {
    /// Do not retry.
    No,
    /// Retry within the chain's retry budget.
    Retry,
    /// Retry once without charging the budget: the target never saw the request.
    Free,
}

/// Whether to fail over to the next target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextTarget {
    /// Try the next target.
    Advance,
    /// Try the next target if the chain is configured to advance on permanent errors.
    IfConfigured,
    /// Return the error to the caller.
    Stop,
}

/// The effect of a failure on the target's health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthEffect {
    /// No effect: the target is healthy.
    None,
    /// Counts as a consecutive failure.
    Count,
    /// Benches the target for the time the provider requested, without counting.
    Throttle,
    /// Benches the target for a fixed time.
    Bench(Duration),
    /// Benches the credential, and with it every target that uses it.
    BenchCredential(Duration),
}

/// How a chain reacts to a [`Class`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Retry on the same target?
    pub same_target: SameTarget,
    /// Fail over to the next target?
    pub next_target: NextTarget,
    /// The effect on health.
    pub health: HealthEffect,
}

const TLS_BENCH: Duration = Duration::from_secs(300);
const AUTH_BENCH: Duration = Duration::from_secs(60);
const QUOTA_BENCH: Duration = Duration::from_secs(300);

impl Class {
    /// Returns `true` if the target is healthy but cannot serve this request.
    pub fn is_incapable(self) -> bool {
        matches!(
            self,
            Self::ModelNotFound | Self::Unsupported | Self::ContextLength
        )
    }

    /// Returns `true` if the same request may succeed later without a change to it, to the
    /// configuration or to an account.
    pub fn is_temporary(self) -> bool {
        matches!(
            self,
            Self::Transient
                | Self::BadResponse
                | Self::Empty
                | Self::RateLimited
                | Self::Conflict
                | Self::NeverSent
        )
    }

    /// Returns how a chain reacts to this class.
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
            Self::Forbidden
            | Self::ModelNotFound
            | Self::Unsupported
            | Self::ContextLength
            | Self::Denied => (SameTarget::No, NextTarget::Advance, Health::None),
            Self::Invalid | Self::Policy => {
                (SameTarget::No, NextTarget::IfConfigured, Health::None)
            }
            Self::ClientAuth
            | Self::ClientLimited
            | Self::Cancelled
            | Self::Deadline
            | Self::Local => (SameTarget::No, NextTarget::Stop, Health::None),
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
        ErrorKind::Denied => Class::Denied,
        ErrorKind::Cancelled => Class::Cancelled,
        ErrorKind::Deadline => Class::Deadline,
        ErrorKind::Spec => Class::Invalid,
        ErrorKind::Overloaded | ErrorKind::Internal | ErrorKind::Exhausted => Class::Local,
        // Carries no delay, so a busy target is not benched.
        ErrorKind::Busy => Class::RateLimited,
        ErrorKind::Provider | ErrorKind::Unknown => classify_response(error),
    }
}

fn classify_response(error: &Error) -> Class {
    let code = error.code().filter(|_| !exceeds_rate_limit_alone(error));
    let class = code
        .and_then(|code| by_code(code, error))
        .or_else(|| by_text(error))
        .unwrap_or_else(|| by_status(error));
    match (class, error.key_owner()) {
        (Class::RateLimited | Class::Transient, KeyOwner::Client)
            if error.status() == Some(429) =>
        {
            Class::ClientLimited
        }
        (Class::Auth | Class::Quota | Class::Forbidden, KeyOwner::Client) => Class::ClientAuth,
        (class, _) => class,
    }
}

/// Returns `true` if a single request exceeds the limit of tokens per minute. OpenAI and
/// Groq report a rate limit, but waiting does not help and other requests are unaffected.
fn exceeds_rate_limit_alone(error: &Error) -> bool {
    matches!(error.status(), Some(413 | 429)) && error.message().starts_with("Request too large")
}

/// Classifies by the provider's code. Codes that merely repeat a status
/// (`not_found_error`, `api_error`) are used only without an error status.
fn by_code(code: &str, error: &Error) -> Option<Class> {
    Some(match code {
        code if credential::is_rejected_by(code) => Class::Auth,
        code if credential::is_exhausted_by(code) => Class::Quota,
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
        // Google: billing is required, or a file is not ready yet.
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

/// Classifies by message, for providers that send no code.
///
/// Messages may echo the client's input. Patterns that only cause a failover may match
/// anywhere; patterns that bench a credential must match at the start.
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
    const AT_START: &[(&str, Class)] = &[
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
        // llama.cpp, for a model without vision.
        Some(500) if text.contains("image input is not supported") => Some(Class::Unsupported),
        Some(413 | 429) if exceeds_rate_limit_alone(error) => Some(Class::ContextLength),
        // OpenRouter: the credit is lower than the maximum cost of this request.
        Some(402) if text.contains("fewer max_tokens") => Some(Class::Unsupported),
        Some(400 | 413 | 422 | 501) => {
            let text = text.trim_start();
            let starts = AT_START.iter().find(|(start, _)| text.starts_with(start));
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

/// Throttling with a delay is a rate limit; without one it is transient like any 5xx.
fn throttled(error: &Error) -> Class {
    match error.retry_after() {
        Some(_) => Class::RateLimited,
        None => Class::Transient,
    }
}

#[cfg(test)]
mod tests;
