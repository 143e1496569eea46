//! Statistics of a route's services, for its rules and for the operator.

use std::sync::Arc;

use majordomo_balance::PoolSnapshot;
use majordomo_rules::{RuleIndex, SeatUsage, ServiceMetrics, Services, Ttft};
use serde::Serialize;

use super::partition::{Partition, now};
use super::route::Route;

/// A snapshot of the services of a route or of one of its rules.
#[derive(Serialize)]
pub(crate) struct PartitionSnapshot {
    pub(crate) route: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rule: Option<String>,
    #[serde(flatten)]
    pub(crate) pool: PoolSnapshot,
}

impl Route {
    /// Snapshots of the route's partition and of its rules' partitions.
    pub(super) fn snapshots(&self) -> impl Iterator<Item = PartitionSnapshot> {
        let of = |rule: Option<&str>, partition: &Partition| PartitionSnapshot {
            route: Arc::clone(&self.name),
            rule: rule.map(str::to_owned),
            pool: partition.pool.snapshot(now()),
        };
        let rules = self.rule_partitions.iter().enumerate();
        let rules = rules.map(move |(index, it)| of(Some(self.rules.name(RuleIndex(index))), it));
        std::iter::once(of(None, &self.base)).chain(rules)
    }
}

/// The facts that conditions may use about the services of their rule.
impl Services for Route {
    fn of_rule(&self, rule: RuleIndex) -> Vec<ServiceMetrics> {
        let Some(partition) = self.rule_partitions.get(rule.0) else {
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
