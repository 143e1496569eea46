//! What a pool is made of, as plain data.

use std::time::Duration;

use super::Tactic;

/// The services of one partition and how they share the work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolConfig {
    /// Who takes part. Their order is the tie-breaker where a tactic needs one.
    pub services: Vec<ServiceConfig>,
    /// How one is picked.
    pub tactic: Tactic,
    /// The tactic inside a tier, for [`Tactic::Tier`].
    pub within: Tactic,
    /// How long a session stays with a service, counted from its first request
    /// there; none: sessions are not kept together.
    pub affinity: Option<Duration>,
    /// What the pool's random choices start from; none: from the process's own.
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
    /// Its name, by which a reload knows it again: the spec.
    pub id: String,
    /// Its share; 0 is a spare that is asked only when no other is left.
    pub weight: u32,
    /// Lower tiers are asked first.
    pub tier: u32,
    /// The requests that it may serve at the same time; none: any number.
    pub capacity: Option<usize>,
    /// How long a request waits for a seat before the next service's turn.
    pub seat_wait: Duration,
    /// Whether it is asked at all.
    pub active: bool,
}

impl ServiceConfig {
    /// How long a request waits for a seat, unless configured.
    pub const SEAT_WAIT: Duration = Duration::from_secs(5);

    /// An active service of weight 1 in tier 0, without a limit.
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
