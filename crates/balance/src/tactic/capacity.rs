//! `capacity`: weighted random selection, with free seats as weights.
//!
//! A service without a capacity has as many seats as its weight.

use super::{Choose, Selection, ServiceIndex};
use crate::Service;

#[derive(Debug)]
pub(super) struct Capacity;

impl Choose for Capacity {
    fn choose(&self, selection: &Selection<'_>) -> ServiceIndex {
        let free = |service: &Service| {
            let taken = service.stats().in_flight() as u64;
            seats(service).saturating_sub(taken)
        };
        let full = || selection.cheapest(utilization);
        selection.weighted(free).unwrap_or_else(full)
    }
}

fn seats(service: &Service) -> u64 {
    let capacity = service.config().capacity.map(|seats| seats as u64);
    let weight = u64::from(service.weight);
    capacity.filter(|seats| *seats > 0).unwrap_or(weight)
}

/// The share of its seats in use; above 1 for an overloaded service without a limit.
pub(super) fn utilization(service: &Service) -> f64 {
    service.stats().in_flight() as f64 / seats(service) as f64
}
