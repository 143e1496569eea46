//! The configuration of a pool, as plain data.

use std::time::Duration;

use super::Tactic;

/// The services of one partition and how requests are distributed over them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolConfig {
    /// The services. Their order breaks ties where a tactic needs it.
    pub services: Vec<ServiceConfig>,
    /// The tactic that picks a service.
    pub tactic: Tactic,
    /// The tactic inside a tier, for [`Tactic::Tier`].
    pub within: Tactic,
    /// How long a session stays with a service, from its first request there; `None`
    /// disables affinity.
    pub affinity: Option<Duration>,
    /// Whether sessions are placed by rendezvous hashing: equal pools of several processes
    /// place a session alike without communicating, even after a restart.
    pub by_hash: bool,
    /// Seed of the pool's random choices; `None` picks a random one.
    pub seed: Option<u64>,
}

impl PoolConfig {
    /// Sets [`services`](Self::services).
    #[must_use]
    pub fn with_services(mut self, services: Vec<ServiceConfig>) -> Self {
        self.services = services;
        self
    }

    /// Sets [`tactic`](Self::tactic).
    #[must_use]
    pub fn with_tactic(mut self, tactic: Tactic) -> Self {
        self.tactic = tactic;
        self
    }

    /// Sets [`within`](Self::within).
    #[must_use]
    pub fn with_within(mut self, within: Tactic) -> Self {
        self.within = within;
        self
    }

    /// Sets [`affinity`](Self::affinity).
    #[must_use]
    pub fn with_affinity(mut self, affinity: Option<Duration>) -> Self {
        self.affinity = affinity;
        self
    }

    /// Sets [`by_hash`](Self::by_hash).
    #[must_use]
    pub fn with_sessions_by_hash(mut self, by_hash: bool) -> Self {
        self.by_hash = by_hash;
        self
    }

    /// Sets [`seed`](Self::seed).
    #[must_use]
    pub fn with_seed(mut self, seed: Option<u64>) -> Self {
        self.seed = seed;
        self
    }
}

/// One service of a pool.
///
/// ```
/// use majordomo_balance::ServiceConfig;
///
/// let local = ServiceConfig::new("ollama/qwen3:30b").with_capacity(Some(2));
/// assert_eq!((local.weight, local.tier, local.active), (1, 0, true));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceConfig {
    /// Its spec, which identifies it across reloads.
    pub id: String,
    /// Its share; 0 makes it a spare, used only when no other service is left.
    pub weight: u32,
    /// Lower tiers are preferred.
    pub tier: u32,
    /// Maximum concurrent requests; `None` is unlimited.
    pub capacity: Option<usize>,
    /// How long a request waits for a seat before it moves on to the next service.
    pub seat_wait: Duration,
    /// Whether it takes requests at all.
    pub active: bool,
}

impl ServiceConfig {
    /// Default of [`seat_wait`](Self::seat_wait).
    pub const SEAT_WAIT: Duration = Duration::from_secs(5);

    /// An active service of weight 1 in tier 0, with unlimited capacity.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            weight: 1,
            tier: 0,
            capacity: None,
            seat_wait: Self::SEAT_WAIT,
            active: true,
        }
    }

    /// Sets [`weight`](Self::weight).
    #[must_use]
    pub fn with_weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// Sets [`tier`](Self::tier).
    #[must_use]
    pub fn with_tier(mut self, tier: u32) -> Self {
        self.tier = tier;
        self
    }

    /// Sets [`capacity`](Self::capacity).
    #[must_use]
    pub fn with_capacity(mut self, capacity: Option<usize>) -> Self {
        self.capacity = capacity;
        self
    }

    /// Sets [`seat_wait`](Self::seat_wait).
    #[must_use]
    pub fn with_seat_wait(mut self, seat_wait: Duration) -> Self {
        self.seat_wait = seat_wait;
        self
    }

    /// Sets [`active`](Self::active).
    #[must_use]
    pub fn with_active(mut self, active: bool) -> Self {
        self.active = active;
        self
    }
}
