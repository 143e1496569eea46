//! `speed`: the most output tokens per second, by the mean of recent streams.
//!
//! A service with too few samples counts as slow. Every so often a request explores the
//! least picked service; otherwise the first measured one would keep all traffic.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Choose, Round, ServiceIndex};
use crate::Service;

/// Samples needed before a service's own speed counts.
const ENOUGH: usize = 5;
/// Assumed speed before that, in tokens per second.
const UNKNOWN: f64 = 25.0;
/// One in this many requests explores.
const LOOK_AROUND: u64 = 32;

#[derive(Debug, Default)]
pub(super) struct Speed {
    choices: AtomicU64,
}

impl Choose for Speed {
    fn choose(&self, round: &Round<'_>) -> ServiceIndex {
        if round.binding {
            let choice = self.choices.fetch_add(1, Ordering::Relaxed);
            if choice % LOOK_AROUND == LOOK_AROUND - 1 {
                return round.cheapest(|service| service.stats().picks() as f64);
            }
        }
        round.cheapest(|service| -speed(service))
    }
}

fn speed(service: &Service) -> f64 {
    match service.stats().mean_speed() {
        (Some(speed), ENOUGH..) => speed,
        _ => UNKNOWN,
    }
}
