//! What rules may know about the services that they name.

use super::RuleIndex;

/// How fast and how busy one service is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ServiceStats {
    /// Its times to the first token; none before the first sample.
    pub ttft: Option<Ttft>,
    /// Its seats; none where no capacity is configured.
    pub seats: Option<Seats>,
}

/// Times to the first token, over the last samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ttft {
    /// The average, in milliseconds.
    pub average_ms: f64,
    /// The 99th percentile, in milliseconds.
    pub p99_ms: f64,
}

/// How many can be served at once, and how many are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seats {
    /// Seats that are taken.
    pub taken: u64,
    /// Seats that there are.
    pub capacity: u64,
}

/// Gives the figures of a rule's own services.
pub trait Services: Sync {
    /// One entry per service of the rule, in any order.
    fn of_rule(&self, rule: RuleIndex) -> Vec<ServiceStats>;
}

/// Nothing is known about any service, as on the first request.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoServices;

impl Services for NoServices {
    fn of_rule(&self, _: RuleIndex) -> Vec<ServiceStats> {
        Vec::new()
    }
}
