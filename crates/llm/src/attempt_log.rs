//! What happened on the way to an answer.
//!
//! Every response and every chain error carries one: who was asked, what was
//! changed for whom, how it went. Nothing is dropped without a line in here.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Class, Error};

/// The record of one request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AttemptLog {
    /// Every target that was looked at, in order.
    pub attempts: Vec<Attempt>,
}

impl AttemptLog {
    /// How many requests went out.
    pub fn calls(&self) -> usize {
        let asked = |a: &&Attempt| !matches!(a.outcome, AttemptOutcome::Skipped { .. });
        self.attempts.iter().filter(asked).count()
    }

    /// What was changed in the request that was served.
    pub fn changes(&self) -> &[Change] {
        self.attempts
            .last()
            .map(|attempt| attempt.changes.as_slice())
            .unwrap_or_default()
    }
}

/// One look at one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The target, as `provider/model`.
    pub target: String,
    /// When it began, counted from the start of the request.
    pub at: Duration,
    /// How long it took; for a stream, until its first semantic event.
    pub took: Duration,
    /// What was changed in the request for this target.
    pub changes: Vec<Change>,
    /// How it went.
    pub outcome: AttemptOutcome,
}

/// How an attempt went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// It served the request.
    Served,
    /// It was not asked.
    Skipped {
        /// Why not, in a sentence.
        reason: String,
        /// What it lacks for this request; none if it is benched.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<Class>,
    },
    /// It was asked, and failed.
    Failed {
        /// What kind of failure.
        class: Class,
        /// The HTTP status, if there was one.
        status: Option<u16>,
        /// The error's text.
        reason: String,
    },
}

impl AttemptOutcome {
    /// The outcome of an attempt that ended in this error.
    pub fn failed(error: &Error) -> Self {
        Self::Failed {
            class: error.class(),
            status: error.status(),
            reason: error.reason(),
        }
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            AttemptOutcome::Served => write!(f, "{}: served", self.target),
            AttemptOutcome::Skipped { reason, .. } => {
                write!(f, "{}: skipped, {reason}", self.target)
            }
            AttemptOutcome::Failed { reason, .. } => write!(f, "{}: {reason}", self.target),
        }
    }
}

/// Something in the request that a target got differently.
///
/// ```
/// use majordomo_llm::Change;
///
/// assert_eq!(Change::new("image", "resized").times(2).to_string(), "image:2 resized");
/// assert_eq!(Change::new("top_k", "dropped").to_string(), "top_k dropped");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What was changed: a field's name, or `image`.
    pub subject: String,
    /// How: `dropped`, `resized`, `described`.
    pub verb: String,
    /// How many of them, where they are counted.
    pub count: Option<usize>,
    /// The particulars, for people.
    pub detail: String,
}

impl Change {
    /// One change without particulars.
    pub fn new(subject: impl Into<String>, verb: impl Into<String>) -> Self {
        Self {
            subject: subject.into(),
            verb: verb.into(),
            count: None,
            detail: String::new(),
        }
    }

    /// Says how many.
    #[must_use]
    pub fn times(mut self, count: usize) -> Self {
        self.count = Some(count);
        self
    }

    /// Adds particulars.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            Some(count) => write!(f, "{}:{count} {}", self.subject, self.verb),
            None => write!(f, "{} {}", self.subject, self.verb),
        }
    }
}
