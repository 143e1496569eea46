//! Request outcomes, shared by logs, metrics, traces and spans.
//!
//! No type here holds content or a provider's text, which may quote the request.

use std::time::Duration;

use majordomo::llm::{Attempt, AttemptLog, AttemptOutcome};
use majordomo::{Class, ErrorKind};

use crate::clip::clip;
use crate::refusal::RequestError;

/// The longest model name that is kept: clients may send any text.
pub(crate) const MAX_MODEL_NAME: usize = 256;
/// The longest target or reason that is kept.
pub(crate) const MAX_TEXT: usize = 512;
/// Longest target name in labels.
pub(crate) const MAX_TARGET_LABEL: usize = 200;

/// How a request ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestOutcome {
    /// The client disconnected, or the server stopped.
    #[default]
    ClientGone,
    /// The response is complete.
    Complete,
    /// The response was interrupted after it had started.
    Interrupted,
    /// The response is an error.
    Failed,
}

impl RequestOutcome {
    /// The name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClientGone => "client_gone",
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// One attempt, without the provider's text, which may quote the request.
#[derive(Debug, Default)]
pub(crate) struct AttemptSummary {
    pub(crate) target: String,
    pub(crate) outcome: &'static str,
    pub(crate) class: Option<Class>,
    pub(crate) status: Option<u16>,
    /// Why a gate refused it, which quotes nothing of the request.
    pub(crate) refusal: Option<Box<str>>,
    /// When it began, since the request's arrival.
    pub(crate) at: Duration,
    pub(crate) took: Duration,
}

impl AttemptSummary {
    /// The attempts of a chain that began so long after the request's arrival.
    pub(crate) fn all(attempt_log: &AttemptLog, began: Duration) -> Vec<Self> {
        let later = |attempt: &Attempt| {
            let summary = Self::from(attempt);
            let at = began + summary.at;
            Self { at, ..summary }
        };
        attempt_log.attempts.iter().map(later).collect()
    }
}

impl From<&Attempt> for AttemptSummary {
    fn from(attempt: &Attempt) -> Self {
        let (outcome, class, status) = match &attempt.outcome {
            AttemptOutcome::Served => ("served", None, None),
            AttemptOutcome::Skipped { class, .. } => ("skipped", *class, None),
            AttemptOutcome::Failed { class, status, .. } => ("failed", Some(*class), *status),
        };
        let refusal = match &attempt.outcome {
            AttemptOutcome::Skipped {
                class: Some(Class::Denied),
                reason,
            } => Some(clip(reason, MAX_TEXT).into()),
            _ => None,
        };
        Self {
            target: clip(&attempt.target, MAX_TARGET_LABEL).to_owned(),
            outcome,
            class,
            status,
            refusal,
            at: attempt.at,
            took: attempt.took,
        }
    }
}

/// The reason in our own words: a provider's text may quote the request.
pub(crate) fn reason(error: &RequestError) -> String {
    let error = match error {
        RequestError::Refused(refusal) => return clip(refusal.message(), MAX_TEXT).to_owned(),
        RequestError::Failed(error) => error,
    };
    let mut failures = String::new();
    for attempt in &error.attempt_log().attempts {
        let what = match &attempt.outcome {
            AttemptOutcome::Served => continue,
            AttemptOutcome::Skipped { class: None, .. } => "benched".to_owned(),
            // A gate's reason quotes nothing of the request.
            AttemptOutcome::Skipped {
                class: Some(Class::Denied),
                reason,
            } => reason.clone(),
            AttemptOutcome::Skipped {
                class: Some(class), ..
            } => format!("{}, not called", in_words(*class, None)),
            AttemptOutcome::Failed {
                class,
                status: Some(status),
                ..
            } => format!("{} ({status})", in_words(*class, Some(*status))),
            AttemptOutcome::Failed { class, .. } => in_words(*class, None).to_owned(),
        };
        if failures.len() > MAX_TEXT {
            failures.push_str("; …");
            break;
        }
        let between = if failures.is_empty() { "" } else { "; " };
        let target = clip(&attempt.target, MAX_MODEL_NAME);
        failures.push_str(&format!("{between}{target}: {what}"));
    }
    match error.kind() {
        _ if !failures.is_empty() => failures,
        ErrorKind::Exhausted | ErrorKind::Denied | ErrorKind::Overloaded | ErrorKind::Internal => {
            clip(error.message(), MAX_TEXT).to_owned()
        }
        _ => in_words(error.class(), error.status()).to_owned(),
    }
}

/// A class of failures in words: `rate limited`.
pub(crate) fn in_words(class: Class, status: Option<u16>) -> &'static str {
    match class {
        Class::Transient if status.is_none() => "connection failed or timed out",
        Class::Transient => "temporary failure",
        Class::BadResponse => "unusable response",
        Class::Empty => "empty response",
        Class::Tls => "certificate not trusted",
        Class::RateLimited => "rate limited",
        Class::Auth => "the gateway's credential was refused",
        Class::ClientAuth => "the client's credential was refused",
        Class::ClientLimited => "the client's credential is rate limited",
        Class::Quota => "credit or quota exhausted",
        Class::Forbidden => "forbidden by the provider",
        Class::Conflict => "conflict",
        Class::NeverSent => "connection closed before the request was sent",
        Class::ModelNotFound => "no such model",
        Class::Unsupported => "request not supported",
        Class::ContextLength => "context window exceeded",
        Class::Invalid => "invalid request",
        Class::Policy => "forbidden by the provider's policy",
        Class::Denied => "not admitted",
        Class::Cancelled => "cancelled",
        Class::Deadline => "deadline exceeded",
        Class::Local => "the gateway is overloaded or failed",
        _ => "failed",
    }
}

#[cfg(test)]
mod tests {
    use majordomo::Error;

    use super::*;

    fn log() -> AttemptLog {
        let attempt = |target: &str, at, outcome| Attempt {
            target: target.to_owned(),
            at: Duration::from_millis(at),
            took: Duration::ZERO,
            changes: Vec::new(),
            outcome,
        };
        let failed = |status| AttemptOutcome::Failed {
            class: Class::Transient,
            status,
            reason: "canary of a provider".to_owned(),
        };
        let denied = AttemptOutcome::Skipped {
            class: Some(Class::Denied),
            reason: "the budget is exhausted".to_owned(),
        };
        AttemptLog::new(vec![
            attempt("a/x", 0, failed(None)),
            attempt("a/x", 5, failed(Some(529))),
            attempt("b/y", 9, denied),
        ])
    }

    #[test]
    fn an_attempt_is_told_since_the_arrival_of_its_request() {
        let began = Duration::from_secs(2);
        let summaries = AttemptSummary::all(&log(), began);
        let at: Vec<_> = summaries.iter().map(|it| it.at.as_millis()).collect();
        assert_eq!(at, [2_000, 2_005, 2_009]);
        assert_eq!(
            summaries[2].refusal.as_deref(),
            Some("the budget is exhausted")
        );
    }

    #[test]
    fn a_reason_is_in_our_own_words() {
        let error = Error::new(ErrorKind::Exhausted, "canary").with_attempt_log(log());
        assert_eq!(
            reason(&error.into()),
            "a/x: connection failed or timed out; a/x: temporary failure (529); \
             b/y: the budget is exhausted"
        );
    }
}
