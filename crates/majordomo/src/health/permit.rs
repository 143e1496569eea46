//! Permission of one request to call a target.

use std::sync::Arc;
use std::time::Duration;

use super::breaker::{HealthFailure, Pass};
use super::lock;
use super::subject::Subject;
use crate::bench_cause::BenchCause;

/// Permission to call a target. Dropping it without a report releases the probe and
/// changes nothing else.
pub(crate) struct HealthPermit {
    subject: Arc<Subject>,
    pass: Pass,
}

impl HealthPermit {
    pub(super) fn new(subject: Arc<Subject>, pass: Pass) -> Self {
        Self { subject, pass }
    }

    /// The target served.
    pub(crate) fn succeed(&mut self) {
        self.pass = Pass::Open;
        let now = self.subject.rules.clock.now();
        let benched = lock(&self.subject.breaker).succeed(now);
        self.subject.notify_recovered(benched);
    }

    /// The target's stream committed.
    pub(crate) fn reopen(&mut self) {
        if let Pass::Probe(_) = self.pass {
            self.pass = Pass::Open;
            let now = self.subject.rules.clock.now();
            let benched = lock(&self.subject.breaker).reopen(now);
            self.subject.notify_recovered(benched);
        }
    }

    /// The target failed; a resulting bench lasts at least this long.
    pub(crate) fn count(&mut self, at_least: Duration, cause: BenchCause) {
        self.fail(HealthFailure::Counted(at_least), cause);
    }

    /// Whether the target is being probed after a bench.
    pub(crate) fn is_probe(&self) -> bool {
        matches!(self.pass, Pass::Probe(_))
    }

    /// Whether the target may be called again: no request has benched it since admission.
    pub(crate) fn still_good(&self) -> bool {
        let now = self.subject.rules.clock.now();
        lock(&self.subject.breaker).allows(self.pass, now)
    }

    /// Whether the target may be retried after a failure; spends the retry.
    pub(crate) fn spend_retry(&self, reached: bool) -> bool {
        lock(&self.subject.breaker).spend_retry(self.pass, reached)
    }

    /// The provider demanded a pause.
    pub(crate) fn throttle(&mut self, wait: Duration, cause: BenchCause) {
        self.fail(HealthFailure::Throttled(wait), cause);
    }

    /// Calling the target again before this time is pointless.
    pub(crate) fn suspend(&mut self, wait: Duration, cause: BenchCause) {
        self.fail(HealthFailure::Suspended(wait), cause);
    }

    /// The credential was rejected.
    pub(crate) fn refuse(&mut self, base: Duration, cause: BenchCause) {
        self.fail(HealthFailure::Growing(base), cause);
    }

    fn fail(&mut self, failure: HealthFailure, cause: BenchCause) {
        self.subject.fail(failure, &mut self.pass, cause);
    }
}

impl Drop for HealthPermit {
    fn drop(&mut self) {
        if let Pass::Probe(number) = self.pass {
            lock(&self.subject.breaker).release(number);
        }
    }
}
