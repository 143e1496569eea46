//! `latency`: power of two choices (P2C) with Peak EWMA.
//!
//! Draws two services at random and picks the one with the lower cost: its Peak EWMA
//! latency times its in-flight requests. Sampling two instead of scanning all keeps
//! concurrent requests from herding to the same service (Mitzenmacher, "The Power of
//! Two Choices in Randomized Load Balancing", IEEE TPDS 12(10), 2001; combined with
//! Peak EWMA as in Finagle and linkerd).

use super::{Choose, Round, ServiceIndex};
use crate::Service;

#[derive(Debug)]
pub(super) struct Latency;

impl Choose for Latency {
    fn choose(&self, round: &Round<'_>) -> ServiceIndex {
        let count = round.candidates.len();
        if count == 1 {
            return round.candidates[0];
        }
        let first = round.roll.index(count);
        let second = (first + 1 + round.roll.index(count - 1)) % count;
        let [a, b] = [first, second].map(|place| round.candidates[place]);
        let [one, other] = [a, b].map(|index| round.service(index));
        let (cost_of_one, cost_of_other) = (
            cost(one, other, round.moment),
            cost(other, one, round.moment),
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
