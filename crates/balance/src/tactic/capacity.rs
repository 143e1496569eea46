//! Weighted random by free seats: what a service may serve, less what it serves.
//!
//! A service without a capacity counts as many seats as its weight.

use super::{Choose, Round, ServiceIndex};
use crate::Service;

#[derive(Debug)]
pub(super) struct Capacity;

impl Choose for Capacity {
    fn choose(&self, round: &Round<'_>) -> ServiceIndex {
        let free = |service: &Service| {
            let taken = service.stats().in_flight() as u64;
            seats(service).saturating_sub(taken)
        };
        let full = || round.cheapest(utilization);
        round.by_share(free).unwrap_or_else(full)
    }
}

fn seats(service: &Service) -> u64 {
    let capacity = service.config().capacity.map(|seats| seats as u64);
    let weight = u64::from(service.weight);
    capacity.filter(|seats| *seats > 0).unwrap_or(weight)
}

/// The share of its seats that are taken; more than 1 where nobody forbids it.
pub(super) fn utilization(service: &Service) -> f64 {
    service.stats().in_flight() as f64 / seats(service) as f64
}
