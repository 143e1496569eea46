//! Interleaved timing, and the table of performance goals.

use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Rounds per contender. Many short rounds, so that some run uninterrupted.
const TURNS: usize = 150;

/// Returns the time per run of each contender, taken from its fastest round.
#[allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]
pub(crate) fn fastest<const N: usize>(
    runs: usize,
    mut contenders: [&mut dyn FnMut(); N],
) -> [Duration; N] {
    let mut best = [Duration::MAX; N];
    for _ in 0..TURNS {
        for (contender, best) in contenders.iter_mut().zip(&mut best) {
            let began = Instant::now();
            for _ in 0..runs {
                contender();
            }
            *best = began.elapsed().min(*best);
        }
    }
    best.map(|time| time / u32::try_from(runs).expect("a few runs"))
}

/// Prints each measurement next to its goal.
#[derive(Default)]
pub(crate) struct GoalTable {
    missed: usize,
}

impl GoalTable {
    pub(crate) fn row(&mut self, name: &str, measured: f64, goal: f64, unit: &str) {
        let verdict = if measured <= goal { "" } else { "  MISSED" };
        self.missed += usize::from(measured > goal);
        println!("{name:<48} {measured:>6.2} {unit}  (at most {goal} {unit}){verdict}");
    }

    pub(crate) fn end(self) -> ExitCode {
        println!("{} goals missed", self.missed);
        ExitCode::from(u8::from(self.missed > 0))
    }
}
