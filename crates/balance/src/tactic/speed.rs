//! `speed`: the most output tokens per second, by the mean of recent streams.
//!
//! A service with too few samples counts as slow. Every so often a request explores the
//! least picked service; otherwise the first measured one would keep all traffic.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Choose, Selection, ServiceIndex};
use crate::Service;

/// Samples needed before a service's own speed counts.
const MIN_SAMPLES: usize = 5;
/// Assumed speed before that, in tokens per second.
const ASSUMED_SPEED: f64 = 25.0;
/// One in this many requests explores.
const EXPLORE_EVERY: u64 = 32;

#[derive(Debug, Default)]
pub(super) struct Speed {
    choices: AtomicU64,
}

impl Choose for Speed {
    fn choose(&self, selection: &Selection<'_>) -> ServiceIndex {
        if selection.binding {
            let choice = self.choices.fetch_add(1, Ordering::Relaxed);
            if choice % EXPLORE_EVERY == EXPLORE_EVERY - 1 {
                return selection.cheapest(|service| service.stats().picks() as f64);
            }
        }
        selection.cheapest(|service| -speed(service))
    }
}

fn speed(service: &Service) -> f64 {
    match service.stats().mean_speed() {
        (Some(speed), MIN_SAMPLES..) => speed,
        _ => ASSUMED_SPEED,
    }
}
