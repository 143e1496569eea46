//! A target of a chain: a model with its health and its credential's.

use std::sync::Arc;
use std::time::Duration;

use majordomo_llm::{Class, Error, Fingerprint, HealthEffect, Model};

use crate::bench_cause::BenchCause;
use crate::clock::Clock;
use crate::health::{Denied, Health, HealthPermit, Standing, Subject};
use crate::spec::TargetName;

/// Longest `Retry-After` that is honored.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3_600);

/// A model that a chain may call.
#[derive(Clone)]
pub(crate) struct ChainTarget {
    name: TargetName,
    model: Arc<dyn Model>,
    health: Arc<Subject>,
    credential: Arc<Subject>,
}

/// Permission to call a target with its credential; reports the outcome to health.
pub(super) struct TargetPermit {
    target: HealthPermit,
    credential: HealthPermit,
}

/// Why a target may not be called.
pub(super) struct NotAdmitted {
    pub(super) denied: Denied,
    /// The credential is benched, so the target must not be forced.
    pub(super) by_credential: bool,
}

impl ChainTarget {
    pub(crate) fn new(
        name: TargetName,
        model: Arc<dyn Model>,
        health: &Health,
        identity: Option<Fingerprint>,
    ) -> Self {
        Self {
            health: health.target(name.as_str(), identity),
            credential: health.credential(name.provider(), identity),
            name,
            model,
        }
    }

    pub(crate) fn name(&self) -> &TargetName {
        &self.name
    }

    pub(crate) fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// The standing of the target and of its credential, which is never forced.
    pub(super) fn standing(&self) -> [Standing; 2] {
        let credential = match self.credential.standing() {
            Standing::Benched { until } => Standing::Closed { until },
            standing => standing,
        };
        [self.health.standing(), credential]
    }

    /// Wraps the model.
    pub(super) fn wrap(
        &self,
        wrap: impl FnOnce(&TargetName, Arc<dyn Model>) -> Arc<dyn Model>,
    ) -> Self {
        Self {
            model: wrap(&self.name, Arc::clone(&self.model)),
            ..self.clone()
        }
    }

    pub(super) fn clock(&self) -> Arc<dyn Clock> {
        self.health.clock()
    }

    pub(super) fn admit(&self) -> Result<TargetPermit, NotAdmitted> {
        self.enter(Subject::admit)
    }

    /// Admits a request to a benched target, unless the provider demands a pause or the
    /// credential is benched.
    pub(super) fn force(&self) -> Result<TargetPermit, NotAdmitted> {
        self.enter(Subject::force)
    }

    fn enter(
        &self,
        enter: impl FnOnce(&Arc<Subject>) -> Result<HealthPermit, Denied>,
    ) -> Result<TargetPermit, NotAdmitted> {
        let refused = |by_credential| {
            move |denied| NotAdmitted {
                denied,
                by_credential,
            }
        };
        Ok(TargetPermit {
            credential: self.credential.admit().map_err(refused(true))?,
            target: enter(&self.health).map_err(refused(false))?,
        })
    }
}

impl TargetPermit {
    pub(super) fn succeed(&mut self) {
        self.target.succeed();
        self.credential.succeed();
    }

    /// A stream committed: the credential is valid and the target reachable.
    pub(super) fn reopen(&mut self) {
        self.target.reopen();
        self.credential.succeed();
    }

    /// Whether this request finds out if a benched target is back.
    pub(super) fn is_probe(&self) -> bool {
        self.target.is_probe()
    }

    /// Whether neither target nor credential has been benched since admission.
    pub(super) fn still_good(&self) -> bool {
        self.target.still_good() && self.credential.still_good()
    }

    /// Whether the target, which was reached or not, may be retried; spends the retry of a
    /// forced attempt.
    pub(super) fn spend_retry(&self, reached: bool) -> bool {
        self.target.spend_retry(reached)
    }

    /// Reports a failure to health, which learns its class and status only: the text
    /// belongs to the request that failed.
    pub(super) fn fail(&mut self, class: Class, error: &Error) {
        let cause = BenchCause::from_error(error, class);
        let retry_after = error.retry_after().unwrap_or_default();
        let retry_after = retry_after.min(MAX_RETRY_AFTER);
        match class.verdict().health {
            HealthEffect::None => {}
            HealthEffect::Count => self.target.count(retry_after, cause),
            HealthEffect::Throttle => self.target.throttle(retry_after, cause),
            HealthEffect::Bench(wait) => self.target.suspend(wait, cause),
            HealthEffect::BenchCredential(base) => self.credential.refuse(base, cause),
        }
    }
}
