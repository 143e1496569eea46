//! The health of one target or credential, shared by the requests that use it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use majordomo_llm::Quota;
use tracing::{info, warn};

use super::breaker::{Admission, CircuitBreaker, Denied, HealthFailure, Pass};
use super::permit::HealthPermit;
use super::quota_reading::{QuotaReading, QuotaStatus};
use super::subject_table::MAX_NAME;
use super::{HealthRules, HealthStatus, Standing, lock};
use crate::bench_cause::BenchCause;
use crate::clock::Clock;
use crate::observe::Notice;

/// A target or a credential.
pub(crate) struct Subject {
    name: String,
    pub(super) rules: Arc<HealthRules>,
    pub(super) breaker: Mutex<CircuitBreaker>,
    quota: Mutex<Option<QuotaReading>>,
}

impl Subject {
    pub(super) fn new(name: &str, rules: Arc<HealthRules>) -> Self {
        Self {
            name: name.to_owned(),
            rules,
            breaker: Mutex::default(),
            quota: Mutex::default(),
        }
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.rules.clock)
    }

    /// Admits a request.
    pub(crate) fn admit(self: &Arc<Self>) -> Result<HealthPermit, Denied> {
        let admission = lock(&self.breaker).admit(self.rules.clock.now(), &self.rules.config);
        self.permit(admission)
    }

    /// Admits a request despite a bench, because no other target can serve it.
    pub(crate) fn force(self: &Arc<Self>) -> Result<HealthPermit, Denied> {
        let admission = lock(&self.breaker).force(self.rules.clock.now());
        self.permit(admission)
    }

    fn permit(self: &Arc<Self>, admission: Admission) -> Result<HealthPermit, Denied> {
        match admission {
            Admission::Granted(pass) => Ok(HealthPermit::new(Arc::clone(self), pass)),
            Admission::Denied(denied) => Err(denied),
        }
    }

    /// Whether it is benched now.
    pub(super) fn is_benched(&self) -> bool {
        let bench = lock(&self.breaker).benched(self.rules.clock.now());
        bench.is_some_and(|bench| !bench.left.is_zero())
    }

    pub(super) fn bench(&self, wait: Duration, cause: BenchCause) {
        lock(&self.breaker).bench(wait, cause.clone(), self.rules.clock.now());
        self.notify_benched(wait, &cause);
    }

    pub(super) fn reset(&self) {
        let benched = lock(&self.breaker).reset();
        self.notify_recovered(benched);
    }

    pub(crate) fn standing(&self) -> Standing {
        let now = self.rules.clock.now();
        let breaker = lock(&self.breaker);
        match breaker.benched(now) {
            None => Standing::Usable,
            Some(bench) if bench.left.is_zero() && !breaker.probing() => Standing::Probe,
            Some(bench) if bench.closed => Standing::Closed {
                until: now + bench.left,
            },
            Some(bench) => Standing::Benched {
                until: now + bench.left,
            },
        }
    }

    /// Records a provider's report of a key's rate limits.
    pub(crate) fn note_quota(&self, quota: Quota) {
        let reading = QuotaReading::new(quota, self.rules.clock.now());
        *lock(&self.quota) = Some(reading);
    }

    /// The remaining rate limits of a key, if known.
    pub(crate) fn quota(&self) -> Option<QuotaStatus> {
        let reading = *lock(&self.quota);
        reading?.status(self.rules.clock.now())
    }

    pub(super) fn status(&self, declared: bool) -> HealthStatus {
        let quota = self.quota();
        let breaker = lock(&self.breaker);
        let bench = breaker.benched(self.rules.clock.now());
        let left = bench.as_ref().map(|bench| bench.left);
        HealthStatus {
            subject: self.name.clone(),
            failures: breaker.failures(),
            rounds: breaker.rounds(),
            until_usable: left.filter(|left| !left.is_zero()),
            benched_for: bench.as_ref().map(|bench| bench.since),
            closed: bench.as_ref().is_some_and(|bench| bench.closed),
            cause: bench.map(|bench| bench.cause),
            probing: breaker.probing(),
            on_trial: breaker.on_trial(),
            declared,
            quota,
        }
    }

    pub(super) fn fail(&self, failure: HealthFailure, pass: &mut Pass, cause: BenchCause) {
        let now = self.rules.clock.now();
        let noticed = cause.clone();
        let benched = lock(&self.breaker).fail(failure, pass, cause, now, &self.rules.config);
        if let Some(wait) = benched {
            self.notify_benched(wait, &noticed);
        }
    }

    /// Runs outside the lock: observers are foreign code.
    fn notify_benched(&self, wait: Duration, cause: &BenchCause) {
        let subject = short(&self.name);
        warn!(target: "majordomo::health", subject, ?wait, reason = %cause, "benched");
        self.rules.observers.notify(&Notice::Benched {
            subject: &self.name,
            wait,
            cause,
        });
    }

    pub(super) fn notify_recovered(&self, was_benched: bool) {
        if was_benched {
            let subject = short(&self.name);
            info!(target: "majordomo::health", subject, "recovered");
            self.rules.observers.notify(&Notice::Recovered {
                subject: &self.name,
            });
        }
    }
}

/// Truncates a name, which clients may choose, for the log.
fn short(name: &str) -> &str {
    let mut end = name.len().min(MAX_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}
