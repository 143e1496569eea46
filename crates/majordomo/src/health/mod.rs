//! Health of targets and credentials: which are benched, and until when.
//!
//! Each subject has a circuit breaker (`breaker`): enough consecutive failures bench it,
//! each further bench lasts longer, and a success resets it. After a bench the breaker is
//! half-open: one request at a time may call the target (the probe) while the others stay
//! away. Time comes from the injected clock; nothing runs in the background.
//!
//! A request holds a `HealthPermit` while it calls a target. It reports the outcome or is
//! dropped, which releases the probe.
//!
//! Health is visible to every client, so it keeps nothing that one client sent: a
//! [`BenchCause`] is class and status. The number of subjects is bounded
//! (`subject_table`). May use `bench_cause`, `clock` and `observe`.

mod breaker;
mod config;
mod permit;
mod quota_reading;
mod subject;
mod subject_table;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use majordomo_llm::Fingerprint;

pub(crate) use breaker::Denied;
pub use config::HealthConfig;
pub(crate) use permit::HealthPermit;
pub use quota_reading::QuotaStatus;
pub(crate) use subject::Subject;
use subject_table::SubjectTable;

pub use crate::bench_cause::BenchCause;
use crate::clock::{Clock, RuntimeClock};
use crate::observe::{Observer, Observers};

/// The health of a registry's targets and credentials.
///
/// ```
/// use std::time::Duration;
/// use majordomo::health::Health;
///
/// let health = Health::default();
/// health.bench("openai/gpt", Duration::from_secs(60), "maintenance");
/// assert!(health.snapshot()[0].until_usable.is_some());
/// health.unbench("openai/gpt");
/// assert!(health.snapshot()[0].until_usable.is_none());
/// ```
#[derive(Clone)]
pub struct Health {
    rules: Arc<HealthRules>,
    table: Arc<Mutex<SubjectTable>>,
}

/// State shared by all subjects.
struct HealthRules {
    config: HealthConfig,
    clock: Arc<dyn Clock>,
    observers: Observers,
}

/// Whether a target or a credential may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It may be used.
    Usable,
    /// Its bench has expired; the next request probes it.
    Probe,
    /// It is benched, or being probed by another request, and is used only if no other target
    /// can serve.
    Benched {
        /// When it may be used again.
        until: Instant,
    },
    /// Benched without exception: the provider demanded a pause, or rejected the key.
    Closed {
        /// When it may be used again.
        until: Instant,
    },
}

/// The health of a target or a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthStatus {
    /// `provider/model`, or `provider` for its credential. If a provider has several keys:
    /// `provider key 2`, and `provider key 2/model` for the rate limits of that key.
    pub subject: String,
    /// Consecutive failures since the last success or bench.
    pub failures: u32,
    /// Benches since the last success.
    pub rounds: u32,
    /// How long it stays benched; `None` if it may be used.
    pub until_usable: Option<Duration>,
    /// How long ago it was benched; it may be awaiting its probe.
    pub benched_for: Option<Duration>,
    /// Why it was benched.
    pub cause: Option<BenchCause>,
    /// Whether its bench holds even when no other target can serve.
    pub closed: bool,
    /// Whether a probe is in flight.
    pub probing: bool,
    /// Whether it is in use again, but the next failure benches it at once.
    pub on_trial: bool,
    /// Whether it is never evicted: a credential, or [declared](Health::declare).
    pub declared: bool,
    /// The remaining rate limits of a key, if the provider has several keys and reports them.
    pub quota: Option<QuotaStatus>,
}

impl Health {
    /// Health with this configuration and clock.
    pub fn new(config: HealthConfig, clock: Arc<dyn Clock>) -> Self {
        Self::with_observers(config, clock, Observers::default())
    }

    pub(crate) fn with_observers(
        config: HealthConfig,
        clock: Arc<dyn Clock>,
        observers: Observers,
    ) -> Self {
        let rules = HealthRules {
            config,
            clock,
            observers,
        };
        Self {
            rules: Arc::new(rules),
            table: Arc::default(),
        }
    }

    /// Notifies an observer of benches and recoveries; call it before first use.
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

    /// Benches a target or credential by hand. The reason is shown to every client that
    /// would be served by it.
    pub fn bench(&self, subject: &str, wait: Duration, reason: &str) {
        let cause = BenchCause::ByHand {
            reason: reason.to_owned(),
        };
        self.declared(subject).bench(wait, cause);
    }

    /// Takes a target or credential off the bench and resets its failures.
    pub fn unbench(&self, subject: &str) {
        let found = lock(&self.table).get(subject);
        if let Some((subject, _)) = found {
            subject.reset();
        }
    }

    /// Exempts these targets from eviction. A bounded number of all other names is kept,
    /// including those that clients invent.
    pub fn declare<'a>(&self, targets: impl IntoIterator<Item = &'a str>) {
        for target in targets {
            self.declared(target);
        }
    }

    /// The health of every subject, by name.
    pub fn snapshot(&self) -> Vec<HealthStatus> {
        let subjects = lock(&self.table).all();
        let each = subjects.into_iter();
        each.map(|(subject, declared)| subject.status(declared))
            .collect()
    }

    /// The health of one target or credential, if known.
    pub fn status(&self, subject: &str) -> Option<HealthStatus> {
        let found = lock(&self.table).get(subject);
        found.map(|(subject, declared)| subject.status(declared))
    }

    /// The handle of a target, shared by equal names and identities.
    pub(crate) fn target(&self, name: &str, identity: Option<Fingerprint>) -> Arc<Subject> {
        lock(&self.table).subject(name, identity, false, || self.new_subject(name))
    }

    /// The handle of a provider's credential.
    pub(crate) fn credential(&self, name: &str, identity: Option<Fingerprint>) -> Arc<Subject> {
        lock(&self.table).subject(name, identity, true, || self.new_subject(name))
    }

    /// The same subjects for another registry, which may forget some without affecting
    /// this one.
    pub(crate) fn fork(&self) -> Self {
        Self {
            rules: Arc::clone(&self.rules),
            table: Arc::new(Mutex::new(lock(&self.table).fork())),
        }
    }

    /// Forgets the subjects of providers whose identity has changed. `current` is the
    /// identity of a provider, or of one of its keys.
    pub(crate) fn forget_changed(
        &self,
        current: impl Fn(&str, Option<usize>) -> Option<Fingerprint>,
    ) {
        lock(&self.table).forget_changed(|subject| {
            let name = subject.split_once('/').map_or(subject, |(name, _)| name);
            match key_of(name) {
                Some((provider, number)) => current(provider, Some(number)),
                None => current(name, None),
            }
        });
    }

    fn declared(&self, name: &str) -> Arc<Subject> {
        lock(&self.table).declare(name, || self.new_subject(name))
    }

    fn new_subject(&self, name: &str) -> Subject {
        Subject::new(name, Arc::clone(&self.rules))
    }
}

/// The subject of a key of a provider that has several, counted from 1. No provider's name
/// contains a space.
pub fn key_subject(provider: &str, number: usize) -> String {
    format!("{provider}{KEY}{number}")
}

const KEY: &str = " key ";

/// The provider and the number of a key's subject.
fn key_of(subject: &str) -> Option<(&str, usize)> {
    let (provider, number) = subject.rsplit_once(KEY)?;
    Some((provider, number.parse().ok()?))
}

impl Default for Health {
    fn default() -> Self {
        Self::new(HealthConfig::default(), Arc::new(RuntimeClock))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Our code does not panic under these locks, so a poisoned one is still consistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
