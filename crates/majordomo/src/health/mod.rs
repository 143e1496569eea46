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

mod permit;
mod state;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) use permit::{Permit, Subject};
pub(crate) use state::Denied;
pub use state::HealthConfig;

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
    shared: Arc<Shared>,
}

struct Shared {
    config: HealthConfig,
    clock: Arc<dyn Clock>,
    observers: Observers,
    subjects: Mutex<BTreeMap<String, Arc<Subject>>>,
}

/// Whether a target or a credential may be used, without the particulars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It may.
    Usable,
    /// Its bench is over, and the next request tries it.
    Probe,
    /// It is left alone until then; also while another request is trying it.
    Benched {
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
    pub reason: Option<String>,
    /// Whether a probe is under way.
    pub probing: bool,
    /// Whether it is used again but one failure benches it at once.
    pub on_trial: bool,
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
        Self {
            shared: Arc::new(Shared {
                config,
                clock,
                observers,
                subjects: Mutex::default(),
            }),
        }
    }

    /// Tells an observer about benches and recoveries; only before first use.
    #[must_use]
    pub fn observed_by(self, observer: Arc<dyn Observer>) -> Self {
        let mut observers = self.shared.observers.clone();
        observers.add(observer);
        Self::with_observers(
            self.shared.config.clone(),
            Arc::clone(&self.shared.clock),
            observers,
        )
    }

    /// Leaves a target or credential alone, by hand.
    pub fn bench(&self, subject: &str, wait: Duration, reason: &str) {
        self.subject(subject).bench(wait, reason);
    }

    /// Uses a target or credential again, and forgets its failures.
    pub fn unbench(&self, subject: &str) {
        self.subject(subject).reset();
    }

    /// How everything is doing, by name.
    pub fn snapshot(&self) -> Vec<HealthStatus> {
        let subjects = lock(&self.shared.subjects).clone();
        subjects.values().map(|subject| subject.status()).collect()
    }

    /// The handle of one target or credential; the same one for the same name.
    pub(crate) fn subject(&self, name: &str) -> Arc<Subject> {
        let mut subjects = lock(&self.shared.subjects);
        if let Some(subject) = subjects.get(name) {
            return Arc::clone(subject);
        }
        // Clients may name any model: those that nobody holds a chain for and
        // nothing is held against are forgotten now and then.
        if subjects.len() >= MANY_SUBJECTS && subjects.len().is_power_of_two() {
            subjects.retain(|_, subject| Arc::strong_count(subject) > 1 || !subject.is_clean());
        }
        let subject = Arc::new(Subject {
            name: name.to_owned(),
            config: self.shared.config.clone(),
            clock: Arc::clone(&self.shared.clock),
            observers: self.shared.observers.clone(),
            state: Mutex::default(),
        });
        subjects.insert(name.to_owned(), Arc::clone(&subject));
        subject
    }
}

impl Default for Health {
    fn default() -> Self {
        Self::new(HealthConfig::default(), Arc::new(RuntimeClock))
    }
}

/// Fewer subjects than this are never swept.
const MANY_SUBJECTS: usize = 1_024;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing of ours panics under these locks; a poisoned one is still sound.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_that_nobody_uses_are_forgotten_unless_they_are_benched() {
        let health = Health::default();
        let kept = health.subject("p/kept");
        health.bench("p/sick", Duration::from_secs(60), "why");
        for n in 0..10 * MANY_SUBJECTS {
            health.subject(&format!("p/{n}"));
        }
        let names: Vec<String> = health.snapshot().into_iter().map(|s| s.subject).collect();
        assert!(names.len() <= 2 * MANY_SUBJECTS, "{} are kept", names.len());
        assert!(names.contains(&"p/sick".to_owned()));
        assert!(names.contains(&"p/kept".to_owned()));
        drop(kept);
    }
}
