//! One target of a chain: a model with its health and its credential's.

use std::sync::Arc;
use std::time::Duration;

use majordomo_llm::{Class, Error, Fingerprint, HealthEffect, Model};

use crate::clock::Clock;
use crate::health::{BenchCause, Denied, Health, Permit, Standing, Subject};
use crate::spec::TargetName;

/// A provider's Retry-After is believed up to this, whoever read it.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(3_600);

#[derive(Clone)]
pub(crate) struct Target {
    name: TargetName,
    model: Arc<dyn Model>,
    health: Arc<Subject>,
    credential: Arc<Subject>,
}

/// The right to ask a target with its credential.
pub(super) struct TargetPermit {
    target: Permit,
    credential: Permit,
}

/// Why a target is not asked.
pub(super) struct Barred {
    pub(super) denied: Denied,
    /// A refused key is no better for a second try.
    pub(super) by_credential: bool,
}

impl Target {
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

    /// Its own standing, and its credential's: a benched one is never forced.
    pub(super) fn standing(&self) -> [Standing; 2] {
        let credential = match self.credential.standing() {
            Standing::Benched { until } => Standing::Closed { until },
            standing => standing,
        };
        [self.health.standing(), credential]
    }

    /// The same target with another model in front of its own.
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

    pub(super) fn admit(&self) -> Result<TargetPermit, Barred> {
        self.enter(Subject::admit)
    }

    /// Goes through a target's bench where the provider did not ask to be left alone,
    /// and never through a credential's.
    pub(super) fn force(&self) -> Result<TargetPermit, Barred> {
        self.enter(Subject::force)
    }

    fn enter(
        &self,
        enter: impl FnOnce(&Arc<Subject>) -> Result<Permit, Denied>,
    ) -> Result<TargetPermit, Barred> {
        let barred = |by_credential| {
            move |denied| Barred {
                denied,
                by_credential,
            }
        };
        Ok(TargetPermit {
            credential: self.credential.admit().map_err(barred(true))?,
            target: enter(&self.health).map_err(barred(false))?,
        })
    }
}

impl TargetPermit {
    pub(super) fn succeed(&mut self) {
        self.target.succeed();
        self.credential.succeed();
    }

    /// A stream began: the key is good, the target is reachable.
    pub(super) fn reopen(&mut self) {
        self.target.reopen();
        self.credential.succeed();
    }

    /// Whether neither target nor credential was benched meanwhile.
    pub(super) fn still_good(&self) -> bool {
        self.target.still_good() && self.credential.still_good()
    }

    /// Tells health about a failure. Of the error it learns class and status only:
    /// the text belongs to the request that failed.
    pub(super) fn fail(&mut self, class: Class, error: &Error) {
        let cause = BenchCause::of(error, class);
        let retry_after = error.retry_after().unwrap_or_default();
        let retry_after = retry_after.min(LONGEST_RETRY_AFTER);
        match class.verdict().health {
            HealthEffect::None => {}
            HealthEffect::Count => self.target.count(retry_after, cause),
            HealthEffect::Throttle => self.target.throttle(retry_after, cause),
            HealthEffect::Bench(wait) => self.target.suspend(wait, cause),
            HealthEffect::BenchCredential(base) => self.credential.refuse(base, cause),
        }
    }
}
