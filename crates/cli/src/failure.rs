//! Why a command failed, in the sentence that the user reads.

use std::io;

use majordomo::{Error, SpecError};

/// The end of a command that did not do what it was asked for.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What happened and what to do.
    Told(String),
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
        Self::Told(error.to_string())
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
