//! One target's shared handle, and the permit of a request that asks it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tracing::{info, warn};

use super::state::{Admission, Denied, Failure, Pass, State};
use super::table::LONGEST_NAME;
use super::{BenchCause, HealthStatus, Rules, Standing, lock};
use crate::clock::Clock;
use crate::observe::Notice;

/// A target's or a credential's health, shared by everything that uses it.
pub(crate) struct Subject {
    name: String,
    rules: Arc<Rules>,
    state: Mutex<State>,
}

impl Subject {
    pub(super) fn new(name: &str, rules: Arc<Rules>) -> Self {
        Self {
            name: name.to_owned(),
            rules,
            state: Mutex::default(),
        }
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.rules.clock)
    }

    /// Asks to be let in.
    pub(crate) fn admit(self: &Arc<Self>) -> Result<Permit, Denied> {
        let admission = lock(&self.state).admit(self.rules.clock.now(), &self.rules.config);
        self.permit(admission)
    }

    /// Asks to be let in although the target is benched: nobody else can serve.
    pub(crate) fn force(self: &Arc<Self>) -> Result<Permit, Denied> {
        let admission = lock(&self.state).force(self.rules.clock.now());
        self.permit(admission)
    }

    fn permit(self: &Arc<Self>, admission: Admission) -> Result<Permit, Denied> {
        match admission {
            Admission::Granted(pass) => Ok(Permit {
                subject: Arc::clone(self),
                pass,
            }),
            Admission::Denied(denied) => Err(denied),
        }
    }

    /// Whether it is left alone now.
    pub(super) fn is_benched(&self) -> bool {
        let bench = lock(&self.state).benched(self.rules.clock.now());
        bench.is_some_and(|bench| !bench.left.is_zero())
    }

    pub(super) fn bench(&self, wait: Duration, cause: BenchCause) {
        lock(&self.state).bench(wait, cause.clone(), self.rules.clock.now());
        self.tell_benched(wait, &cause);
    }

    pub(super) fn reset(&self) {
        let benched = lock(&self.state).reset();
        self.tell_recovered(benched);
    }

    pub(crate) fn standing(&self) -> Standing {
        let now = self.rules.clock.now();
        let state = lock(&self.state);
        match state.benched(now) {
            None => Standing::Usable,
            Some(bench) if bench.left.is_zero() && !state.probing() => Standing::Probe,
            Some(bench) if bench.closed => Standing::Closed {
                until: now + bench.left,
            },
            Some(bench) => Standing::Benched {
                until: now + bench.left,
            },
        }
    }

    pub(super) fn status(&self, declared: bool) -> HealthStatus {
        let state = lock(&self.state);
        let bench = state.benched(self.rules.clock.now());
        let left = bench.as_ref().map(|bench| bench.left);
        HealthStatus {
            subject: self.name.clone(),
            failures: state.failures(),
            rounds: state.rounds(),
            until_usable: left.filter(|left| !left.is_zero()),
            benched_for: bench.as_ref().map(|bench| bench.since),
            closed: bench.as_ref().is_some_and(|bench| bench.closed),
            cause: bench.map(|bench| bench.cause),
            probing: state.probing(),
            on_trial: state.on_trial(),
            declared,
        }
    }

    fn fail(&self, failure: Failure, pass: &mut Pass, cause: BenchCause) {
        let now = self.rules.clock.now();
        let told = cause.clone();
        let benched = lock(&self.state).fail(failure, pass, cause, now, &self.rules.config);
        if let Some(wait) = benched {
            self.tell_benched(wait, &told);
        }
    }

    /// Told outside the lock: observers are the user's code.
    fn tell_benched(&self, wait: Duration, cause: &BenchCause) {
        let subject = short(&self.name);
        warn!(target: "majordomo::health", subject, ?wait, reason = %cause, "benched");
        self.rules.observers.tell(&Notice::Benched {
            subject: &self.name,
            wait,
            cause,
        });
    }

    fn tell_recovered(&self, was_benched: bool) {
        if was_benched {
            let subject = short(&self.name);
            info!(target: "majordomo::health", subject, "recovered");
            self.rules.observers.tell(&Notice::Recovered {
                subject: &self.name,
            });
        }
    }
}

/// A name as far as a log line has room for it; clients may choose it.
fn short(name: &str) -> &str {
    let mut end = name.len().min(LONGEST_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// The right to ask a target. Dropping it without a report changes nothing but
/// frees the probe's place.
pub(crate) struct Permit {
    subject: Arc<Subject>,
    pass: Pass,
}

impl Permit {
    /// The target answered well.
    pub(crate) fn succeed(&mut self) {
        self.pass = Pass::Open;
        let now = self.subject.rules.clock.now();
        let benched = lock(&self.subject.state).succeed(now);
        self.subject.tell_recovered(benched);
    }

    /// The target began to stream.
    pub(crate) fn reopen(&mut self) {
        if let Pass::Probe(_) = self.pass {
            self.pass = Pass::Open;
            let now = self.subject.rules.clock.now();
            let benched = lock(&self.subject.state).reopen(now);
            self.subject.tell_recovered(benched);
        }
    }

    /// The target failed; if that benches it, then for at least so long.
    pub(crate) fn count(&mut self, at_least: Duration, cause: BenchCause) {
        self.fail(Failure::Counted(at_least), cause);
    }

    /// Whether the target may be asked again: it was not benched meanwhile, by
    /// this request or by another.
    pub(crate) fn still_good(&self) -> bool {
        let now = self.subject.rules.clock.now();
        lock(&self.subject.state).allows(self.pass, now)
    }

    /// The target asked to be left alone.
    pub(crate) fn throttle(&mut self, wait: Duration, cause: BenchCause) {
        self.fail(Failure::Throttled(wait), cause);
    }

    /// Asking the target again before then is useless.
    pub(crate) fn suspend(&mut self, wait: Duration, cause: BenchCause) {
        self.fail(Failure::Suspended(wait), cause);
    }

    /// The credential was refused.
    pub(crate) fn refuse(&mut self, base: Duration, cause: BenchCause) {
        self.fail(Failure::Growing(base), cause);
    }

    fn fail(&mut self, failure: Failure, cause: BenchCause) {
        self.subject.fail(failure, &mut self.pass, cause);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Pass::Probe(number) = self.pass {
            lock(&self.subject.state).release(number);
        }
    }
}
