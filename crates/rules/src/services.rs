//! Metrics of a rule's services, supplied by the caller.

use super::RuleIndex;

/// Latency and utilization of one service.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ServiceMetrics {
    /// Times to first token; `None` before the first sample.
    pub ttft: Option<Ttft>,
    /// Concurrency seats; `None` if no capacity is configured.
    pub seats: Option<SeatUsage>,
}

/// Times to first token over recent samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ttft {
    /// Mean, in milliseconds.
    pub average_ms: f64,
    /// 99th percentile, in milliseconds.
    pub p99_ms: f64,
}

/// Concurrent requests of a service and its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatUsage {
    /// Seats in use.
    pub taken: u64,
    /// Configured seats.
    pub capacity: u64,
}

/// Supplies the metrics of a rule's services.
pub trait Services: Sync {
    /// One entry per service of the rule, in any order.
    fn of_rule(&self, rule: RuleIndex) -> Vec<ServiceMetrics>;
}

/// Reports no metrics, as before the first request.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoServices;

impl Services for NoServices {
    fn of_rule(&self, _: RuleIndex) -> Vec<ServiceMetrics> {
        Vec::new()
    }
}
