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
    pub(crate) at: Duration,
    pub(crate) took: Duration,
}

impl AttemptSummary {
    pub(crate) fn all(attempt_log: &AttemptLog) -> Vec<Self> {
        attempt_log.attempts.iter().map(Self::from).collect()
    }
}

impl From<&Attempt> for AttemptSummary {
    fn from(attempt: &Attempt) -> Self {
        let (outcome, class, status) = match &attempt.outcome {
            AttemptOutcome::Served => ("served", None, None),
            AttemptOutcome::Skipped { class, .. } => ("skipped", *class, None),
            AttemptOutcome::Failed { class, status, .. } => ("failed", Some(*class), *status),
        };
        Self {
            target: clip(&attempt.target, MAX_TARGET_LABEL).to_owned(),
            outcome,
            class,
            status,
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
            AttemptOutcome::Skipped { class: None, .. } => "Benched".to_owned(),
            // A gate's reason quotes nothing of the request.
            AttemptOutcome::Skipped {
                class: Some(Class::Denied),
                reason,
            } => reason.clone(),
            AttemptOutcome::Skipped {
                class: Some(class), ..
            } => format!("{class:?}, not called"),
            AttemptOutcome::Failed {
                class,
                status: Some(status),
                ..
            } => format!("{class:?} {status}"),
            AttemptOutcome::Failed { class, .. } => format!("{class:?}"),
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
        _ => format!("{:?}", error.class()),
    }
}
