//! One target's shared handle, and the permit of a request that asks it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tracing::{info, warn};

use super::state::{Admission, Denied, Failure, State};
use super::{HealthConfig, HealthStatus, Standing, lock};
use crate::clock::Clock;
use crate::observe::{Notice, Observers};

/// A target's or a credential's health, shared by everything that uses it.
pub(crate) struct Subject {
    pub(super) name: String,
    pub(super) config: HealthConfig,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) observers: Observers,
    pub(super) state: Mutex<State>,
}

impl Subject {
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    /// Asks to be let in.
    pub(crate) fn admit(self: &Arc<Self>) -> Result<Permit, Denied> {
        let admission = lock(&self.state).admit(self.clock.now(), &self.config);
        self.permit(admission)
    }

    /// Asks to be let in although the target is benched.
    pub(crate) fn force(self: &Arc<Self>) -> Result<Permit, Denied> {
        let admission = lock(&self.state).force(self.clock.now());
        self.permit(admission)
    }

    fn permit(self: &Arc<Self>, admission: Admission) -> Result<Permit, Denied> {
        let probe = match admission {
            Admission::Open => None,
            Admission::Probe(number) => Some(number),
            Admission::Denied(denied) => return Err(denied),
        };
        Ok(Permit {
            subject: Arc::clone(self),
            probe,
        })
    }

    /// Whether nothing is held against it.
    pub(super) fn is_clean(&self) -> bool {
        lock(&self.state).is_clean()
    }

    pub(super) fn bench(&self, wait: Duration, reason: &str) {
        lock(&self.state).bench(wait, reason, self.clock.now());
        self.tell_benched(wait, reason);
    }

    pub(super) fn reset(&self) {
        let benched = lock(&self.state).succeed();
        self.tell_recovered(benched);
    }

    pub(crate) fn standing(&self) -> Standing {
        let now = self.clock.now();
        let state = lock(&self.state);
        match state.benched(now) {
            None => Standing::Usable,
            Some((_, left, _)) if left.is_zero() && !state.probing() => Standing::Probe,
            Some((_, left, _)) => Standing::Benched { until: now + left },
        }
    }

    pub(super) fn status(&self) -> HealthStatus {
        let state = lock(&self.state);
        let bench = state.benched(self.clock.now());
        HealthStatus {
            subject: self.name.clone(),
            failures: state.failures(),
            rounds: state.rounds(),
            until_usable: bench
                .map(|(_, left, _)| left)
                .filter(|left| !left.is_zero()),
            benched_for: bench.map(|(since, _, _)| since),
            reason: bench.map(|(_, _, reason)| reason.to_owned()),
            probing: state.probing(),
            on_trial: state.on_trial(),
        }
    }

    fn fail(&self, failure: Failure, probe: Option<u64>, reason: &str) {
        let now = self.clock.now();
        let benched = lock(&self.state).fail(failure, probe, reason, now, &self.config);
        if let Some(wait) = benched {
            self.tell_benched(wait, reason);
        }
    }

    /// Told outside the lock: observers are the user's code.
    fn tell_benched(&self, wait: Duration, reason: &str) {
        warn!(target: "majordomo::health", subject = self.name, ?wait, reason, "benched");
        let subject = &self.name;
        self.observers.tell(&Notice::Benched {
            subject,
            wait,
            reason,
        });
    }

    fn tell_recovered(&self, was_benched: bool) {
        if was_benched {
            info!(target: "majordomo::health", subject = self.name, "recovered");
            self.observers.tell(&Notice::Recovered {
                subject: &self.name,
            });
        }
    }
}

/// The right to ask a target. Dropping it without a report changes nothing but
/// frees the probe's place.
pub(crate) struct Permit {
    subject: Arc<Subject>,
    probe: Option<u64>,
}

impl Permit {
    /// The target answered well.
    pub(crate) fn succeed(&mut self) {
        self.probe = None;
        let benched = lock(&self.subject.state).succeed();
        self.subject.tell_recovered(benched);
    }

    /// The target began to stream.
    pub(crate) fn reopen(&mut self) {
        if self.probe.take().is_some() {
            let benched = lock(&self.subject.state).reopen();
            self.subject.tell_recovered(benched);
        }
    }

    /// The target failed; if that benches it, then for at least so long.
    pub(crate) fn count(&mut self, at_least: Duration, reason: &str) {
        self.subject
            .fail(Failure::Counted(at_least), self.probe.take(), reason);
    }

    /// Whether the target may be asked again: it was not benched meanwhile, by
    /// this request or by another.
    pub(crate) fn still_good(&self) -> bool {
        lock(&self.subject.state).allows(self.probe)
    }

    /// The target asked to be left alone.
    pub(crate) fn throttle(&mut self, wait: Duration, reason: &str) {
        self.subject
            .fail(Failure::Throttled(wait), self.probe.take(), reason);
    }

    /// The credential was refused.
    pub(crate) fn refuse(&mut self, base: Duration, reason: &str) {
        self.subject
            .fail(Failure::Growing(base), self.probe.take(), reason);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(probe) = self.probe {
            lock(&self.subject.state).release(probe);
        }
    }
}
