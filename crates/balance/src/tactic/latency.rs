//! `latency`: power of two choices (P2C) with Peak EWMA.
//!
//! Draws two services at random and picks the one with the lower cost: its Peak EWMA
//! latency times its in-flight requests. Sampling two instead of scanning all keeps
//! concurrent requests from herding to the same service (Mitzenmacher, "The Power of
//! Two Choices in Randomized Load Balancing", IEEE TPDS 12(10), 2001; combined with
//! Peak EWMA as in Finagle and linkerd).

use super::{Choose, Selection, ServiceIndex};
use crate::Service;

#[derive(Debug)]
pub(super) struct PowerOfTwoChoices;

impl Choose for PowerOfTwoChoices {
    fn choose(&self, selection: &Selection<'_>) -> ServiceIndex {
        let count = selection.candidates.len();
        if count == 1 {
            return selection.candidates[0];
        }
        let first = selection.rng.index(count);
        let second = (first + 1 + selection.rng.index(count - 1)) % count;
        let [a, b] = [first, second].map(|place| selection.candidates[place]);
        let [one, other] = [a, b].map(|index| selection.service(index));
        let (cost_of_one, cost_of_other) = (
            cost(one, other, selection.moment),
            cost(other, one, selection.moment),
        );
        if cost_of_other < cost_of_one { b } else { a }
    }
}

/// The cost of a service compared with its rival.
fn cost(service: &Service, rival: &Service, moment: u64) -> f64 {
    let known = service.stats().mean_latency().map(|ms| ms / 1_000.0);
    let rivals = rival.stats().peak_at(moment);
    if known.is_none() && rivals == 0.0 {
        return service.load();
    }
    // An unknown or decayed latency counts as half the rival's: enough to be tried, and
    // no longer better with one request in flight. Otherwise all requests would herd
    // there until its first response.
    let floor = known.unwrap_or(f64::INFINITY).min(rivals / 2.0);
    service.stats().peak_at(moment).max(floor) * service.load()
}
