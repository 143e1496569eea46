//! Random schedules against a chain, in virtual time.
//!
//! Each seed creates targets that fail in all known ways and callers that wait, time out and
//! cancel, concurrently and in sequence. The invariants of chain and health are checked
//! throughout. A failing seed is printed and can be replayed alone:
//!
//! `MAJORDOMO_SIM_SEED=123 cargo test -p majordomo --test it simulation`
//!
//! `MAJORDOMO_SIM_SCHEDULES` sets the number of seeds.

mod dice;
mod oracle;
mod schedule;
mod world;

const SCHEDULES: u64 = 20_000;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn random_schedules_keep_every_invariant() {
    let seeds = match setting("MAJORDOMO_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..setting("MAJORDOMO_SIM_SCHEDULES").unwrap_or(SCHEDULES),
    };
    let count = seeds.end - seeds.start;
    let mut totals = world::Totals::default();
    for seed in seeds {
        let broken = schedule::run(seed, &mut totals);
        assert!(
            broken.is_empty(),
            "seed {seed} breaks invariants (replay with MAJORDOMO_SIM_SEED={seed}):\n{}",
            broken.join("\n")
        );
    }
    println!("{count} schedules: {totals:?}");
    if count >= SCHEDULES {
        totals.assert_everything_happened();
    }
}
