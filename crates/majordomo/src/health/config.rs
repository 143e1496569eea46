//! When targets are benched, and for how long.

use std::time::Duration;

/// Configures benches.
///
/// ```
/// use majordomo::health::HealthConfig;
///
/// let rules = HealthConfig::default().with_threshold(3);
/// assert_eq!(rules.base.as_secs(), 5);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HealthConfig {
    /// Consecutive failures that bench a target.
    pub threshold: u32,
    /// How long the first bench lasts.
    pub base: Duration,
    /// The maximum duration of a bench.
    pub max: Duration,
    /// Growth of each further bench (exponential backoff); 1 or less means 2.
    pub factor: f64,
    /// Whether only one request at a time probes a target after its bench (half-open), and a
    /// failed probe benches it again. If off, all requests are admitted immediately and
    /// failures count from zero.
    pub single_probe: bool,
}

impl HealthConfig {
    /// Sets the consecutive failures that bench a target.
    #[must_use]
    pub fn with_threshold(mut self, threshold: u32) -> Self {
        self.threshold = threshold;
        self
    }

    /// Sets how long the first bench lasts.
    #[must_use]
    pub fn with_base(mut self, base: Duration) -> Self {
        self.base = base;
        self
    }

    /// Sets how long a bench lasts at most.
    #[must_use]
    pub fn with_max(mut self, max: Duration) -> Self {
        self.max = max;
        self
    }

    /// Sets the growth of each further bench.
    #[must_use]
    pub fn with_factor(mut self, factor: f64) -> Self {
        self.factor = factor;
        self
    }

    /// Sets whether a single request at a time probes a target after its bench.
    #[must_use]
    pub fn with_single_probe(mut self, single_probe: bool) -> Self {
        self.single_probe = single_probe;
        self
    }
}

impl Default for HealthConfig {
    fn default() -> Self {
        Self {
            threshold: 2,
            base: Duration::from_secs(5),
            max: Duration::from_secs(300),
            factor: 2.0,
            single_probe: true,
        }
    }
}
