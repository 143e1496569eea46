//! One service as its pool holds it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{ServiceConfig, ServiceSnapshot, ServiceStats, Usability};

/// A service of a pool: what is configured, and what is known of it.
///
/// A pick looks at every service, so what it needs lies close together and the
/// rest elsewhere.
#[derive(Debug)]
pub struct Service {
    /// What its requests in flight are divided by; a spare's is 1, since spares
    /// are only ever compared with spares.
    pub(super) weight: u32,
    pub(super) tier: u32,
    pub(super) active: bool,
    pub(super) spare: bool,
    limited: bool,
    /// Tells services of one process apart, also across reloads.
    pub(super) identity: u64,
    /// The last moment at which it was not known to be well; 0 if there was none.
    unwell: AtomicU64,
    stats: Arc<ServiceStats>,
    config: Box<ServiceConfig>,
}

impl Service {
    pub(super) fn new(config: ServiceConfig, epoch: Instant) -> Self {
        let stats = Arc::new(ServiceStats::new(epoch));
        Self::with(config, stats, 0)
    }

    /// The same service under a new configuration, with all that is known of it.
    pub(super) fn reloaded(&self, config: ServiceConfig) -> Self {
        let unwell = self.unwell.load(Ordering::Relaxed);
        Self::with(config, Arc::clone(&self.stats), unwell)
    }

    fn with(config: ServiceConfig, stats: Arc<ServiceStats>, unwell: u64) -> Self {
        stats.set_capacity(config.capacity, config.seat_wait);
        Self {
            weight: config.weight.max(1),
            tier: config.tier,
            active: config.active,
            spare: config.weight == 0,
            limited: config.capacity.is_some(),
            identity: stats.identity(),
            unwell: AtomicU64::new(unwell),
            stats,
            config: Box::new(config),
        }
    }

    /// Its name: the spec.
    pub fn id(&self) -> &str {
        &self.config.id
    }

    /// What is configured.
    pub fn config(&self) -> &ServiceConfig {
        &self.config
    }

    /// What is known of it; a [`super::Metered`] feeds it.
    pub fn stats(&self) -> &Arc<ServiceStats> {
        &self.stats
    }

    /// The requests that it may serve at the same time; none: any number.
    pub fn capacity(&self) -> Option<usize> {
        self.config.capacity
    }

    /// How much of its capacity is taken, from 0 to 1; none without a capacity.
    pub fn utilization(&self) -> Option<f64> {
        let seats = self.config.capacity.filter(|seats| *seats > 0)?;
        Some(self.stats.in_flight() as f64 / seats as f64)
    }

    /// Everything about it, to look at.
    pub fn snapshot(&self, now: Instant) -> ServiceSnapshot {
        ServiceSnapshot::of(self, now)
    }

    pub(super) fn is_full(&self) -> bool {
        self.limited && self.stats.is_full()
    }

    /// What its load would be with one more request, for its weight.
    pub(super) fn load(&self) -> f64 {
        (self.stats.in_flight() as f64 + 1.0) / f64::from(self.weight)
    }

    /// Remembers how it was seen, for the hold after a recovery.
    pub(super) fn saw(&self, usability: Usability, moment: u64) {
        let unwell = self.unwell.load(Ordering::Relaxed);
        let seen = match usability {
            Usability::Benched { until } | Usability::Closed { until } => {
                self.stats.moment(until).max(moment)
            }
            Usability::Probe => moment,
            // Its bench was lifted early.
            _ if unwell > moment => moment,
            _ => return,
        };
        if seen != unwell {
            self.unwell.store(seen.max(1), Ordering::Relaxed);
        }
    }

    /// Whether it recovered less than this long ago.
    pub(super) fn recovered_within(&self, hold: Duration, moment: u64) -> bool {
        let unwell = self.unwell.load(Ordering::Relaxed);
        unwell > 0 && moment < unwell.saturating_add(hold.as_micros() as u64)
    }
}
