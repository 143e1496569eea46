//! `adaptive`: the highest weighted score of latency, tokens, speed and load.
//!
//! Each component is a hyperbolic score between 0 and 1, with ½ at a typical value,
//! which is also the score without samples. Ties, after rounding, are broken at
//! random.

use super::capacity::utilization;
use super::{Choose, Selection, ServiceIndex};
use crate::Service;

/// Typical latency in milliseconds.
const LATENCY: f64 = 2_000.0;
/// Typical tokens per minute.
const TOKENS: f64 = 10_000.0;
/// Typical speed in tokens per second.
const SPEED: f64 = 50.0;
const UNKNOWN: f64 = 0.5;
/// Resolution at which scores are compared.
const SCORE_STEPS: f64 = 1e6;

#[derive(Debug)]
pub(super) struct Adaptive;

impl Choose for Adaptive {
    fn choose(&self, selection: &Selection<'_>) -> ServiceIndex {
        let cost = |service: &Service| -(score(service, selection.moment) * SCORE_STEPS).round();
        selection.cheapest_of_sample(cost)
    }
}

fn score(service: &Service, moment: u64) -> f64 {
    let stats = service.stats();
    let latency = stats.mean_latency().map(|ms| less_is_better(ms, LATENCY));
    let (speed, _) = stats.mean_speed();
    let speed = speed.map(|speed| 1.0 - less_is_better(speed, SPEED));
    let tokens = less_is_better(stats.tokens_at(moment) as f64, TOKENS);
    let load = less_is_better(utilization(service), 1.0);
    0.25 * latency.unwrap_or(UNKNOWN)
        + 0.15 * tokens
        + 0.15 * speed.unwrap_or(UNKNOWN)
        + 0.10 * load
}

/// 1 at zero, ½ at the typical value, approaching 0.
fn less_is_better(value: f64, ordinary: f64) -> f64 {
    ordinary / (ordinary + value)
}
