//! Which targets are worth asking.
//!
//! Every target has a small state machine ([`state`]): enough consecutive
//! failures bench it for a while, the while grows with every round, a success
//! resets all. After a bench one request at a time may try it (the probe) while
//! the others stay away. Time comes from the injected clock; nothing runs in
//! the background.
//!
//! A request holds a [`Permit`] while it asks a target. Whatever happens to the
//! request, the permit reports or is dropped, and a dropped probe frees its place.
//!
//! Everybody sees the same health, so it keeps nothing that one client said: a
//! [`BenchCause`] is class and status. How many subjects are kept is bounded
//! ([`table`]).

mod cause;
mod permit;
mod state;
mod table;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use majordomo_llm::Fingerprint;

pub use cause::BenchCause;
pub(crate) use permit::{Permit, Subject};
pub(crate) use state::Denied;
pub use state::HealthConfig;
use table::Table;

use crate::clock::{Clock, RuntimeClock};
use crate::observe::{Observer, Observers};

/// The health of all targets and credentials that a registry knows.
///
/// ```
/// use std::time::Duration;
/// use majordomo::Health;
///
/// let health = Health::default();
/// health.bench("openai/gpt", Duration::from_secs(60), "maintenance");
/// assert!(health.snapshot()[0].until_usable.is_some());
/// health.unbench("openai/gpt");
/// assert!(health.snapshot()[0].until_usable.is_none());
/// ```
#[derive(Clone)]
pub struct Health {
    rules: Arc<Rules>,
    table: Arc<Mutex<Table>>,
}

/// What all subjects share.
struct Rules {
    config: HealthConfig,
    clock: Arc<dyn Clock>,
    observers: Observers,
}

/// Whether a target or a credential may be used, without the particulars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It may.
    Usable,
    /// Its bench is over, and the next request tries it.
    Probe,
    /// It is left alone until then, unless nobody else can serve; also while another
    /// request is trying it.
    Benched {
        /// When it may be asked again.
        until: Instant,
    },
    /// Nobody asks it before then: the provider said so, or its key was refused.
    Closed {
        /// When it may be asked again.
        until: Instant,
    },
}

/// How a target or a credential is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthStatus {
    /// `provider/model`, or `provider` for its credential.
    pub subject: String,
    /// Consecutive failures since the last success or bench.
    pub failures: u32,
    /// Benches since the last success.
    pub rounds: u32,
    /// How long it is still left alone; none if it may be used.
    pub until_usable: Option<Duration>,
    /// How long ago it was benched; it may be waiting for its probe by now.
    pub benched_for: Option<Duration>,
    /// Why it was benched.
    pub cause: Option<BenchCause>,
    /// Whether nobody asks it during its bench, not even as a last resort.
    pub closed: bool,
    /// Whether a probe is under way.
    pub probing: bool,
    /// Whether it is used again but one failure benches it at once.
    pub on_trial: bool,
    /// Whether it is kept for good: a credential, or [declared](Health::declare).
    pub declared: bool,
}

impl Health {
    /// Health by these rules and this clock.
    pub fn new(config: HealthConfig, clock: Arc<dyn Clock>) -> Self {
        Self::with_observers(config, clock, Observers::default())
    }

    pub(crate) fn with_observers(
        config: HealthConfig,
        clock: Arc<dyn Clock>,
        observers: Observers,
    ) -> Self {
        let rules = Rules {
            config,
            clock,
            observers,
        };
        Self {
            rules: Arc::new(rules),
            table: Arc::default(),
        }
    }

    /// Tells an observer about benches and recoveries; only before first use.
    #[must_use]
    pub fn observed_by(self, observer: Arc<dyn Observer>) -> Self {
        let mut observers = self.rules.observers.clone();
        observers.add(observer);
        Self::with_observers(
            self.rules.config.clone(),
            Arc::clone(&self.rules.clock),
            observers,
        )
    }

    /// Leaves a target or credential alone, by hand. The reason is shown to every
    /// client that would be served by it.
    pub fn bench(&self, subject: &str, wait: Duration, reason: &str) {
        let cause = BenchCause::ByHand {
            reason: reason.to_owned(),
        };
        self.declared(subject).bench(wait, cause);
    }

    /// Uses a target or credential again, and forgets its failures.
    pub fn unbench(&self, subject: &str) {
        let found = lock(&self.table).get(subject);
        if let Some((subject, _)) = found {
            subject.reset();
        }
    }

    /// Keeps these targets for good. Of all others, those that clients make up
    /// included, only so many are remembered.
    pub fn declare<'a>(&self, targets: impl IntoIterator<Item = &'a str>) {
        for target in targets {
            self.declared(target);
        }
    }

    /// How everything is doing, by name.
    pub fn snapshot(&self) -> Vec<HealthStatus> {
        let subjects = lock(&self.table).all();
        let each = subjects.into_iter();
        each.map(|(subject, declared)| subject.status(declared))
            .collect()
    }

    /// How one target or credential is doing, if anything is known of it.
    pub fn status(&self, subject: &str) -> Option<HealthStatus> {
        let found = lock(&self.table).get(subject);
        found.map(|(subject, declared)| subject.status(declared))
    }

    /// The handle of a target; the same one for the same name and identity.
    pub(crate) fn target(&self, name: &str, identity: Option<Fingerprint>) -> Arc<Subject> {
        lock(&self.table).subject(name, identity, false, || self.new_subject(name))
    }

    /// The handle of a provider's credential. There are as many as providers.
    pub(crate) fn credential(&self, name: &str, identity: Option<Fingerprint>) -> Arc<Subject> {
        lock(&self.table).subject(name, identity, true, || self.new_subject(name))
    }

    /// The same subjects for another registry, which may forget some of them
    /// without harm to this one.
    pub(crate) fn fork(&self) -> Self {
        Self {
            rules: Arc::clone(&self.rules),
            table: Arc::new(Mutex::new(lock(&self.table).fork())),
        }
    }

    /// Forgets what belongs to providers with another identity by now.
    pub(crate) fn forget_changed(&self, current: impl Fn(&str) -> Option<Fingerprint>) {
        lock(&self.table).forget_changed(|subject| {
            let provider = subject.split_once('/').map_or(subject, |(name, _)| name);
            current(provider)
        });
    }

    fn declared(&self, name: &str) -> Arc<Subject> {
        lock(&self.table).declare(name, || self.new_subject(name))
    }

    fn new_subject(&self, name: &str) -> Subject {
        Subject::new(name, Arc::clone(&self.rules))
    }
}

impl Default for Health {
    fn default() -> Self {
        Self::new(HealthConfig::default(), Arc::new(RuntimeClock))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing of ours panics under these locks; a poisoned one is still sound.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
