//! How the services of a route are doing, for its rules and for the operator.

use std::sync::Arc;

use majordomo_balance::PoolSnapshot;
use majordomo_rules::{RuleIndex, SeatUsage, ServiceMetrics, Services, Ttft};
use serde::Serialize;

use super::partition::{Partition, now};
use super::route::Route;

/// The services of a route, or of one of its rules, at one moment.
#[derive(Serialize)]
pub(crate) struct PartitionSnapshot {
    route: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    #[serde(flatten)]
    pool: PoolSnapshot,
}

impl Route {
    /// How the services of the route and of its rules are doing.
    pub(super) fn snapshots(&self) -> impl Iterator<Item = PartitionSnapshot> {
        let of = |rule: Option<&str>, partition: &Partition| PartitionSnapshot {
            route: Arc::clone(&self.name),
            rule: rule.map(str::to_owned),
            pool: partition.pool.snapshot(now()),
        };
        let rules = self.narrowed.iter().enumerate();
        let rules = rules.map(move |(index, it)| of(Some(self.rules.name(RuleIndex(index))), it));
        std::iter::once(of(None, &self.base)).chain(rules)
    }
}

/// What rules may know of the services that they name.
impl Services for Route {
    fn of_rule(&self, rule: RuleIndex) -> Vec<ServiceMetrics> {
        let Some(partition) = self.narrowed.get(rule.0) else {
            return Vec::new();
        };
        let services = partition.pool.services().zip(&partition.services);
        let figures = services.map(|((_, known), service)| {
            let first = service.stats().first_token();
            ServiceMetrics {
                ttft: first
                    .mean
                    .zip(first.p99)
                    .map(|(average_ms, p99_ms)| Ttft { average_ms, p99_ms }),
                seats: known.capacity().map(|capacity| SeatUsage {
                    taken: service.stats().in_flight() as u64,
                    capacity: capacity as u64,
                }),
            }
        });
        figures.collect()
    }
}
