//! Of two services by chance, the one that would answer sooner: its peak-sensitive
//! latency, times the requests that it would have in flight.
//!
//! Two by chance instead of the best of all: requests that come at the same
//! moment do not all run to the same service.

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

/// What a service costs against its rival.
fn cost(service: &Service, rival: &Service, moment: u64) -> f64 {
    let known = service.stats().mean_latency().map(|ms| ms / 1_000.0);
    let rivals = rival.stats().peak_at(moment);
    if known.is_none() && rivals == 0.0 {
        return service.load();
    }
    // What was forgotten or never known is taken for twice as fast as the rival:
    // that is enough to be tried, and one try later it is no better. Otherwise
    // everybody would run there until the first answer is back.
    let floor = known.unwrap_or(f64::INFINITY).min(rivals / 2.0);
    service.stats().peak_at(moment).max(floor) * service.load()
}
