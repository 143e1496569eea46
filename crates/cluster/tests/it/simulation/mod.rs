//! Random schedules of several nodes: crashes, partitions, lost replies, diverging clocks and
//! a store that loses its data.
//!
//! `MAJORDOMO_SIM_SCHEDULES` sets their number, `MAJORDOMO_SIM_SEED` replays one of them.

mod money;
mod traffic;

use std::panic::{AssertUnwindSafe, catch_unwind};

const SCHEDULES: u64 = 2_000;

/// Runs every schedule, and names the seed of one that fails.
fn run_all(one: impl Fn(u64)) {
    let variable = |name| {
        std::env::var(name)
            .ok()
            .and_then(|text: String| text.parse().ok())
    };
    if let Some(seed) = variable("MAJORDOMO_SIM_SEED") {
        return one(seed);
    }
    for seed in 0..variable("MAJORDOMO_SIM_SCHEDULES").unwrap_or(SCHEDULES) {
        if catch_unwind(AssertUnwindSafe(|| one(seed))).is_err() {
            panic!("schedule {seed} failed; replay it with MAJORDOMO_SIM_SEED={seed}");
        }
    }
}
