//! The fastest writer: output tokens a second, by the mean of the last streams.
//!
//! A service that has not shown enough yet counts as a slow one, and now and then
//! a request looks around: otherwise the first one to be known would stay alone.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Choose, Round, ServiceIndex};
use crate::Service;

/// As many streams say something about a service.
const ENOUGH: usize = 5;
/// What a service counts as before that, in tokens a second.
const UNKNOWN: f64 = 25.0;
/// Every so many requests, one goes to the service that was picked least.
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
