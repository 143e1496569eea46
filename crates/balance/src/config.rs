//! The configuration of a pool, as plain data.

use std::time::Duration;

use super::Tactic;

/// The services of one partition and how requests are distributed over them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolConfig {
    /// The services. Their order breaks ties where a tactic needs it.
    pub services: Vec<ServiceConfig>,
    /// How a service is picked.
    pub tactic: Tactic,
    /// The tactic inside a tier, for [`Tactic::Tier`].
    pub within: Tactic,
    /// How long a session stays with a service, from its first request there; `None`
    /// disables affinity.
    pub affinity: Option<Duration>,
    /// Seed of the pool's random choices; `None` picks a random one.
    pub seed: Option<u64>,
}

/// One service of a pool.
///
/// ```
/// use majordomo_balance::ServiceConfig;
///
/// let local = ServiceConfig { capacity: Some(2), ..ServiceConfig::new("ollama/qwen3:30b") };
/// assert_eq!((local.weight, local.tier, local.active), (1, 0, true));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
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
}
