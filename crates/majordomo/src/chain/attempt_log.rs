//! Records the attempts of a request in its attempt log.

use std::sync::Arc;
use std::time::{Duration, Instant};

use majordomo_llm::{Attempt, AttemptLog, AttemptOutcome, Change, Class, Error, ErrorKind};

use super::gate::GateRefusal;
use super::outlook::{Outlook, Prospect};
use super::target::NotAdmitted;
use super::{AllBenched, ChainTarget};
use crate::clock::Clock;
use crate::observe::{Notice, Observers};

/// Builds the [`AttemptLog`] of one request and notifies the observers.
pub(super) struct AttemptRecorder<'a> {
    observers: &'a Observers,
    clock: Arc<dyn Clock>,
    started: Instant,
    attempt_log: AttemptLog,
    outlook: Outlook,
    all_benched: AllBenched,
    /// Attempts that ended because the target does not support the request.
    incapable: usize,
    /// Attempts that the gate refused.
    denied: usize,
}

impl<'a> AttemptRecorder<'a> {
    pub(super) fn new(
        observers: &'a Observers,
        clock: Arc<dyn Clock>,
        all_benched: AllBenched,
    ) -> Self {
        Self {
            observers,
            started: clock.now(),
            clock,
            attempt_log: AttemptLog::default(),
            outlook: Outlook::default(),
            all_benched,
            incapable: 0,
            denied: 0,
        }
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Whether every target was skipped, or failed, because it does not support the request:
    /// none was unhealthy or benched.
    pub(super) fn all_incapable(&self) -> bool {
        self.incapable == self.attempt_log.attempts.len()
    }

    pub(super) fn skipped(&mut self, target: &ChainTarget, reason: String, class: Option<Class>) {
        let name = target.name().as_str();
        self.observers.notify(&Notice::Skipped {
            target: name,
            reason: &reason,
        });
        let now = self.now();
        self.push(
            target,
            now,
            Vec::new(),
            AttemptOutcome::Skipped { reason, class },
        );
    }

    pub(super) fn not_admitted(&mut self, target: &ChainTarget, refusal: &NotAdmitted) {
        let denied = &refusal.denied;
        let whose = if refusal.by_credential {
            "its credential is benched"
        } else {
            "benched"
        };
        let how_long = if denied.probing {
            ", and another request is probing it".to_owned()
        } else {
            format!(" for {:.1} s more", denied.wait.as_secs_f64())
        };
        let why = denied.cause.as_ref();
        let why = why.map(|cause| format!(" ({cause})")).unwrap_or_default();
        let reason = format!("{whose}{how_long}{why}");
        let prospect = Prospect::benched(refusal, self.all_benched);
        self.outlook.note(target.name().as_str(), prospect);
        self.skipped(target, reason, None);
    }

    /// Records an attempt that the gate refused.
    pub(super) fn denied(&mut self, target: &ChainTarget, refusal: GateRefusal) {
        self.denied += 1;
        let prospect = Prospect::refused(&refusal);
        self.outlook.note(target.name().as_str(), prospect);
        self.skipped(target, refusal.reason, Some(Class::Denied));
    }

    pub(super) fn failed(
        &mut self,
        target: &ChainTarget,
        began: Instant,
        changes: Vec<Change>,
        class: Class,
        error: &Error,
    ) {
        let reason = error.reason();
        self.observers.notify(&Notice::Failed {
            target: target.name().as_str(),
            class,
            reason: &reason,
        });
        self.incapable += usize::from(class.is_incapable());
        let prospect = Prospect::failed(class, error);
        self.outlook.note(target.name().as_str(), prospect);
        let outcome = AttemptOutcome::Failed {
            class,
            status: error.status(),
            reason,
        };
        self.push(target, began, changes, outcome);
    }

    /// The target will be called with another key.
    pub(super) fn exchanged_key(&mut self, target: &ChainTarget) {
        self.outlook.exchange_key(target.name().as_str());
    }

    /// The chain will be walked again, with all keys.
    pub(super) fn walk_again(&mut self) {
        self.outlook.forget_keys();
    }

    /// Records a target that was not called because the request does not fit it.
    pub(super) fn unfit(&mut self, target: &ChainTarget, class: Class, error: &Error) {
        if class == Class::Denied {
            // The gate refused a call that shaping needs, such as a description.
            let mut refusal = GateRefusal::new(error.message());
            refusal.retry_after = error.retry_after();
            return self.denied(target, refusal);
        }
        if class.is_incapable() {
            self.incapable += 1;
            let name = target.name().as_str();
            self.outlook.note(name, Prospect::unfit(error));
            return self.skipped(target, error.message().to_owned(), Some(class));
        }
        let now = self.now();
        self.failed(target, now, Vec::new(), class, error);
    }

    pub(super) fn served(
        &mut self,
        target: &ChainTarget,
        began: Instant,
        changes: Vec<Change>,
    ) -> AttemptLog {
        self.push(target, began, changes, AttemptOutcome::Served);
        std::mem::take(&mut self.attempt_log)
    }

    /// Attaches the attempt log to an error that ends the request, and lists the targets of
    /// the chain that the request did not reach.
    pub(super) fn give_up(&mut self, error: Error, targets: &[ChainTarget]) -> Error {
        let mut attempt_log = std::mem::take(&mut self.attempt_log);
        let names = targets.iter().map(|target| target.name().as_str());
        attempt_log.not_reached = names
            .filter(|name| attempt_log.attempts.iter().all(|it| it.target != *name))
            .map(str::to_owned)
            .collect();
        error.with_attempt_log(attempt_log)
    }

    /// The error of a request that no target could serve.
    pub(super) fn exhausted(self) -> Error {
        let attempts = self.attempt_log.attempts.iter();
        let mut reasons: Vec<String> = attempts.map(Attempt::to_string).collect();
        // A retry that failed in the same way adds nothing.
        reasons.dedup();
        let (kind, what) = match self.denied > 0
            && self.denied + self.incapable == self.attempt_log.attempts.len()
        {
            true => (ErrorKind::Denied, "no target may be used"),
            false => (ErrorKind::Exhausted, "no target could serve the request"),
        };
        let text = format!("{what}: {}", reasons.join("; "));
        let mut error = Error::new(kind, text)
            .with_retryable(self.outlook.is_retryable())
            .with_retry_after(self.outlook.retry_after())
            .with_attempt_log(self.attempt_log);
        if let Some(status) = self.outlook.status() {
            error = error.with_status(status);
        }
        match self.outlook.code() {
            Some(code) => error.with_code(code),
            None => error,
        }
    }

    /// How long to wait before the chain is walked again, if every target demands a pause.
    pub(super) fn pause(&self) -> Option<Duration> {
        self.outlook.pause()
    }

    fn push(
        &mut self,
        target: &ChainTarget,
        began: Instant,
        changes: Vec<Change>,
        outcome: AttemptOutcome,
    ) {
        self.attempt_log.attempts.push(Attempt {
            target: target.name().as_str().to_owned(),
            at: began.saturating_duration_since(self.started),
            took: self.now().saturating_duration_since(began),
            changes,
            outcome,
        });
    }
}
