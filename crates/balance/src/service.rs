//! One service of a pool.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{ServiceConfig, ServiceSnapshot, ServiceStats, Usability};

/// A service of a pool: its configuration and its statistics.
///
/// A pick reads every service, so the fields that it needs are stored inline, and all others
/// behind pointers.
#[derive(Debug)]
pub struct Service {
    /// Divisor of the in-flight requests; 1 for a spare, since spares are only compared
    /// with spares.
    pub(super) weight: u32,
    pub(super) tier: u32,
    pub(super) active: bool,
    pub(super) spare: bool,
    limited: bool,
    /// Identifies the service within the process, even across reloads.
    pub(super) identity: u64,
    /// The last moment at which it was not known to be healthy; 0 if there was none.
    unhealthy_at: AtomicU64,
    stats: Arc<ServiceStats>,
    config: Box<ServiceConfig>,
}

impl Service {
    pub(super) fn new(config: ServiceConfig, epoch: Instant) -> Self {
        let stats = Arc::new(ServiceStats::new(epoch));
        Self::with(config, stats, 0)
    }

    /// The same service under a new configuration, with its statistics.
    pub(super) fn reloaded(&self, config: ServiceConfig) -> Self {
        let unhealthy_at = self.unhealthy_at.load(Ordering::Relaxed);
        Self::with(config, Arc::clone(&self.stats), unhealthy_at)
    }

    fn with(config: ServiceConfig, stats: Arc<ServiceStats>, unhealthy_at: u64) -> Self {
        stats.set_capacity(config.capacity, config.seat_wait);
        Self {
            weight: config.weight.max(1),
            tier: config.tier,
            active: config.active,
            spare: config.weight == 0,
            limited: config.capacity.is_some(),
            identity: stats.identity(),
            unhealthy_at: AtomicU64::new(unhealthy_at),
            stats,
            config: Box::new(config),
        }
    }

    /// Its spec.
    pub fn id(&self) -> &str {
        &self.config.id
    }

    /// Its configuration.
    pub fn config(&self) -> &ServiceConfig {
        &self.config
    }

    /// Its statistics, recorded by [`Metered`](super::Metered).
    pub fn stats(&self) -> &Arc<ServiceStats> {
        &self.stats
    }

    /// Maximum concurrent requests; `None` is unlimited.
    pub fn capacity(&self) -> Option<usize> {
        self.config.capacity
    }

    /// Share of the capacity in use, from 0 to 1; `None` without a capacity.
    pub fn utilization(&self) -> Option<f64> {
        let seats = self.config.capacity.filter(|seats| *seats > 0)?;
        Some(self.stats.in_flight() as f64 / seats as f64)
    }

    /// A snapshot of the service for display.
    pub fn snapshot(&self, now: Instant) -> ServiceSnapshot {
        ServiceSnapshot::of(self, now)
    }

    pub(super) fn is_full(&self) -> bool {
        self.limited && self.stats.is_full()
    }

    /// Its load with one more request, divided by its weight.
    pub(super) fn load(&self) -> f64 {
        (self.stats.in_flight() as f64 + 1.0) / f64::from(self.weight)
    }

    /// Records the observed usability, for the hold after a recovery.
    pub(super) fn observe(&self, usability: Usability, moment: u64) {
        let unhealthy_at = self.unhealthy_at.load(Ordering::Relaxed);
        let seen = match usability {
            Usability::Benched { until } | Usability::Closed { until } => {
                self.stats.moment(until).max(moment)
            }
            Usability::Probe => moment,
            // Its bench was lifted early.
            _ if unhealthy_at > moment => moment,
            _ => return,
        };
        if seen != unhealthy_at {
            self.unhealthy_at.store(seen.max(1), Ordering::Relaxed);
        }
    }

    /// Whether it recovered less than `hold` ago.
    pub(super) fn recovered_within(&self, hold: Duration, moment: u64) -> bool {
        let unhealthy_at = self.unhealthy_at.load(Ordering::Relaxed);
        unhealthy_at > 0 && moment < unhealthy_at.saturating_add(hold.as_micros() as u64)
    }
}
