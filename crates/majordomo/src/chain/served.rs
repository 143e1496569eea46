//! A request that a target has served, until its outcome is reported.

use majordomo_llm::{AttemptLog, Usage};

use super::ChainTarget;
use super::gate::AdmittedAttempt;
use super::target::TargetPermit;

/// A served request. The permit has not reported the outcome yet.
pub(super) struct Served<'a, T> {
    pub(super) output: T,
    pub(super) target: &'a ChainTarget,
    pub(super) permit: TargetPermit,
    /// Not settled yet.
    pub(super) attempt: AdmittedAttempt,
    pub(super) attempt_log: AttemptLog,
    pub(super) deadline: Option<tokio::time::Instant>,
    /// Usage of rejected responses.
    pub(super) spent: Usage,
}

impl<'a, T> Served<'a, T> {
    /// Splits off the output and puts another in its place.
    pub(super) fn replace<U>(self, output: U) -> (T, Served<'a, U>) {
        let rest = Served {
            output,
            target: self.target,
            permit: self.permit,
            attempt: self.attempt,
            attempt_log: self.attempt_log,
            deadline: self.deadline,
            spent: self.spent,
        };
        (self.output, rest)
    }
}
