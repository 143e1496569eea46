//! Why a command failed, in the sentence that the user reads.

use std::io;

use majordomo::{Attempt, Class, Error, ErrorKind, Outcome, SpecError};

/// The end of a command that did not do what it was asked for.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What happened and what to do.
    Told(String),
    /// Everything that is wrong with a file, each with its line.
    Listed(String),
    /// The reader of our output went away, as `head` does; nothing is wrong.
    Closed,
}

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self::Told(text.into())
    }
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        let hint = match &error {
            SpecError::UnknownAlias { .. } => {
                "; a target is written `provider/model`, and `majordomo models` lists them"
            }
            SpecError::NotATarget { .. } => "; `majordomo models` lists them",
            _ => "",
        };
        Self::Told(format!("{error}{hint}"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        // Most errors say what to do; that a server was not reached does not.
        let not_reached = |attempt: &Attempt| {
            let Outcome::Failed { class, status, .. } = &attempt.outcome else {
                return false;
            };
            *class == Class::Transient && status.is_none()
        };
        let exhausted = error.kind() == ErrorKind::Exhausted;
        let hint = if exhausted && error.attempt_log().attempts.iter().any(not_reached) {
            "; `majordomo models` shows who answers"
        } else {
            ""
        };
        Self::Told(format!("{error}{hint}"))
    }
}

/// Only for stdout; files have errors of their own, which name the file.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Told(format!("the output cannot be written: {error}")),
        }
    }
}
