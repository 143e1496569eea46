//! Errors of commands, as users see them.

use std::io;

use majordomo::llm::{Attempt, AttemptOutcome};
use majordomo::spec::SpecError;
use majordomo::{Class, Error, ErrorKind};
use majordomo_gateway::RequestError;

/// The failure of a command.
#[derive(Debug)]
pub(crate) enum CliError {
    /// One sentence that states the problem and the remedy.
    Message(String),
    /// The problems of a configuration file, with their lines.
    Problems(String),
    /// The output has already stated the problem.
    Reported,
    /// The reader of stdout closed it, as `head` does; not an error.
    BrokenPipe,
}

impl CliError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self::Message(text.into())
    }
}

impl From<SpecError> for CliError {
    fn from(error: SpecError) -> Self {
        let hint = match &error {
            SpecError::UnknownAlias { .. } => {
                "; write a target as `provider/model`, and run `majordomo models` to list them"
            }
            SpecError::NotATarget { .. } => "; run `majordomo models` to list targets",
            _ => "",
        };
        Self::Message(format!("{error}{hint}"))
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        // Most errors state a remedy; the one for an unreachable server does not.
        let not_reached = |attempt: &Attempt| {
            let AttemptOutcome::Failed { class, status, .. } = &attempt.outcome else {
                return false;
            };
            *class == Class::Transient && status.is_none()
        };
        let exhausted = error.kind() == ErrorKind::Exhausted;
        let hint = if exhausted && error.attempt_log().attempts.iter().any(not_reached) {
            "; run `majordomo models` to see which providers are reachable"
        } else {
            ""
        };
        Self::Message(format!("{error}{hint}"))
    }
}

impl From<RequestError> for CliError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Failed(error) => error.into(),
            refused => Self::Message(refused.to_string()),
        }
    }
}

/// For stdout only; errors on files name the file.
impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Message(format!("failed to write output: {error}")),
        }
    }
}
