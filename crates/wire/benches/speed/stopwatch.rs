//! Times by turns, and the table of goals.

use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How often each contender has its turn: many short ones, so that some of them
/// are not interrupted.
const TURNS: usize = 150;

/// The time of one run of each, from its fastest turn of several runs.
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

/// Prints what was measured beside its goal.
#[derive(Default)]
pub(crate) struct Table {
    missed: usize,
}

impl Table {
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
