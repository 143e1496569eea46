//! The record of a request's attempts.
//!
//! Every response and every chain error carries one. Nothing is dropped from a request
//! without being recorded here.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Class, Error};

/// The targets tried for one request, what was changed for each, and the outcomes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AttemptLog {
    /// The attempts in order, including skipped targets.
    pub attempts: Vec<Attempt>,
    /// Targets that the request did not reach, because it failed for good before them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_reached: Vec<String>,
}

impl AttemptLog {
    /// Creates a log of these attempts.
    pub fn new(attempts: Vec<Attempt>) -> Self {
        Self {
            attempts,
            not_reached: Vec::new(),
        }
    }

    /// Returns the number of requests sent.
    pub fn calls(&self) -> usize {
        let sent = |a: &&Attempt| !matches!(a.outcome, AttemptOutcome::Skipped { .. });
        self.attempts.iter().filter(sent).count()
    }

    /// Returns the changes made for the last attempt.
    pub fn changes(&self) -> &[Change] {
        self.attempts
            .last()
            .map(|attempt| attempt.changes.as_slice())
            .unwrap_or_default()
    }

    /// Lists the attempts on targets that an error's text does not name, and the targets that
    /// were not reached. The error of an exhausted chain names all of them itself.
    pub(crate) fn other_targets(&self, text: &str) -> String {
        let mut others = String::new();
        for attempt in &self.attempts {
            let reason = attempt.to_string();
            if names(text, &attempt.target) || others.contains(&reason) {
                continue;
            }
            others.push_str(match others.is_empty() {
                true => "; before it, ",
                false => "; ",
            });
            others.push_str(&reason);
        }
        if !self.not_reached.is_empty() {
            others.push_str("; not reached: ");
            others.push_str(&self.not_reached.join(", "));
        }
        others
    }
}

/// Whether a text names a target, and not only a longer one: `a/m` is not in `a/m-mini: …`.
fn names(text: &str, target: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "-_./:".contains(c);
    text.match_indices(target).any(|(at, _)| {
        let rest = &text[at + target.len()..];
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let joined = rest[..end].trim_end_matches(['.', ':']);
        joined.is_empty() && !text[..at].ends_with(is_part)
    })
}

/// One attempt to serve a request with one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The target, as `provider/model`.
    pub target: String,
    /// The start time, relative to the start of the request.
    pub at: Duration,
    /// The duration; for a stream, until its first semantic event.
    pub took: Duration,
    /// The changes made to the request for this target.
    pub changes: Vec<Change>,
    /// The outcome.
    pub outcome: AttemptOutcome,
}

/// The outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// The target served the request.
    Served,
    /// Nothing was sent to the target.
    Skipped {
        /// The reason, in a sentence.
        reason: String,
        /// Why the target cannot serve the request; `None` if it is benched.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<Class>,
    },
    /// The target failed.
    Failed {
        /// The class of the failure.
        class: Class,
        /// The HTTP status, if any.
        status: Option<u16>,
        /// The error message.
        reason: String,
    },
}

impl AttemptOutcome {
    /// Creates the outcome of an attempt that failed with this error.
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

/// A difference between the caller's request and what a target received.
///
/// ```
/// use majordomo_llm::Change;
///
/// assert_eq!(Change::new("image", "resized").times(2).to_string(), "image:2 resized");
/// assert_eq!(Change::new("top_k", "dropped").to_string(), "top_k dropped");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What was changed: the name of a field, or `image`.
    pub subject: String,
    /// What was done to it: `dropped`, `resized`, `described`.
    pub verb: String,
    /// How many were changed, if counted.
    pub count: Option<usize>,
    /// Details for humans.
    pub detail: String,
}

impl Change {
    /// Creates a change without count and details.
    pub fn new(subject: impl Into<String>, verb: impl Into<String>) -> Self {
        Self {
            subject: subject.into(),
            verb: verb.into(),
            count: None,
            detail: String::new(),
        }
    }

    /// Sets the count.
    #[must_use]
    pub fn times(mut self, count: usize) -> Self {
        self.count = Some(count);
        self
    }

    /// Sets the details.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_named_only_by_its_whole_name() {
        for (text, named) in [
            ("no target: up/m: refused; up/n: refused", true),
            ("tried up/m.", true),
            ("up/m", true),
            ("`up/m` refused", true),
            ("up/m-mini: refused", false),
            ("up/m:30b: refused", false),
            ("up/m.5: refused", false),
            ("group/m: refused", false),
            ("up/m-mini refused, up/m: too", true),
            ("ßup/mß", false),
        ] {
            assert_eq!(names(text, "up/m"), named, "{text}");
        }
    }
}
