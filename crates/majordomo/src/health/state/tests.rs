//! The rules of health, on a clock that is a number.

use proptest::prelude::*;

use super::*;
use crate::clock::{Clock, RuntimeClock};

struct World {
    state: State,
    config: HealthConfig,
    now: Instant,
}

impl World {
    fn new() -> Self {
        Self {
            state: State::default(),
            config: HealthConfig::default(),
            now: RuntimeClock.now(),
        }
    }

    fn plain() -> Self {
        let mut world = Self::new();
        world.config.single_probe = false;
        world
    }

    fn admit(&mut self) -> Admission {
        self.state.admit(self.now, &self.config)
    }

    fn fail(&mut self, probe: Option<u64>) -> Option<u64> {
        self.failed(Failure::Counted(Duration::ZERO), probe)
    }

    fn failed(&mut self, failure: Failure, probe: Option<u64>) -> Option<u64> {
        let wait = self
            .state
            .fail(failure, probe, "why", self.now, &self.config);
        wait.map(|wait| wait.as_secs())
    }

    fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    fn probe(&mut self) -> u64 {
        match self.admit() {
            Admission::Probe(number) => number,
            other => panic!("expected a probe, got {other:?}"),
        }
    }
}

#[test]
fn two_consecutive_failures_bench_for_five_seconds() {
    let mut world = World::new();
    assert_eq!(world.fail(None), None);
    assert_eq!(world.fail(None), Some(5));
    let Admission::Denied(denied) = world.admit() else {
        panic!("a benched target is not asked");
    };
    assert_eq!(denied.wait, Duration::from_secs(5));
    assert_eq!((denied.probing, &denied.reason[..]), (false, "why"));
}

#[test]
fn a_success_between_failures_starts_the_count_anew() {
    let mut world = World::new();
    world.fail(None);
    world.state.succeed();
    assert_eq!(world.fail(None), None);
}

#[test]
fn each_round_doubles_up_to_five_minutes() {
    let mut world = World::new();
    world.fail(None);
    world.fail(None);
    let mut waits = vec![];
    for _ in 0..8 {
        world.pass(300);
        let probe = world.probe();
        waits.push(world.fail(Some(probe)).unwrap());
    }
    assert_eq!(waits, [10, 20, 40, 80, 160, 300, 300, 300]);
}

#[test]
fn a_success_resets_the_backoff() {
    let mut world = World::new();
    world.fail(None);
    world.fail(None);
    world.pass(5);
    world.probe();
    assert!(world.state.succeed());
    world.fail(None);
    assert_eq!(world.fail(None), Some(5));
}

#[test]
fn after_a_bench_one_probe_goes_and_the_others_stay_away() {
    let mut world = World::new();
    world.fail(None);
    world.fail(None);
    world.pass(5);
    let probe = world.probe();
    assert!(matches!(world.admit(), Admission::Denied(d) if d.probing && d.wait.is_zero()));
    world.state.release(probe);
    assert_ne!(
        world.probe(),
        probe,
        "an undecided probe gives its place back"
    );
}

#[test]
fn a_failed_probe_benches_at_once() {
    let mut world = World::new();
    world.fail(None);
    world.fail(None);
    world.pass(5);
    let probe = world.probe();
    assert_eq!(world.fail(Some(probe)), Some(10));
}

#[test]
fn stragglers_do_not_lengthen_the_bench_that_they_caused() {
    let mut world = World::new();
    world.fail(None);
    world.fail(None);
    assert_eq!(world.fail(None), None);
    assert_eq!(world.fail(None), None);
    assert_eq!(world.state.rounds(), 1);
}

#[test]
fn retry_after_lengthens_a_bench_and_never_shortens_it() {
    let mut world = World::new();
    world.fail(None);
    world.fail(None);
    world.failed(Failure::Throttled(Duration::from_secs(30)), None);
    world.failed(Failure::Throttled(Duration::from_secs(1)), None);
    let (_, left, _) = world.state.benched(world.now).unwrap();
    assert_eq!(left, Duration::from_secs(30));
}

#[test]
fn throttling_counts_no_failure() {
    let mut world = World::new();
    assert_eq!(
        world.failed(Failure::Throttled(Duration::from_secs(7)), None),
        Some(7)
    );
    assert_eq!((world.state.failures(), world.state.rounds()), (0, 0));
}

#[test]
fn a_credential_is_benched_longer_every_time_up_to_an_hour() {
    let mut world = World::new();
    let growing = Failure::Growing(Duration::from_secs(300));
    let mut waits = vec![world.failed(growing, None).unwrap()];
    for _ in 0..5 {
        world.pass(3_600);
        let probe = world.probe();
        waits.push(world.failed(growing, Some(probe)).unwrap());
    }
    assert_eq!(waits, [300, 600, 1_200, 2_400, 3_600, 3_600]);
}

#[test]
fn the_last_resort_takes_the_place_of_the_probe() {
    let mut world = World::new();
    world.fail(None);
    world.fail(None);
    assert!(matches!(world.state.force(world.now), Admission::Probe(_)));
    assert!(matches!(world.state.force(world.now), Admission::Denied(d) if d.probing));
}

#[test]
fn a_probes_stream_that_began_lets_others_in_until_the_next_failure() {
    let mut world = World::new();
    world.fail(None);
    world.fail(None);
    world.pass(5);
    world.probe();
    assert!(world.state.reopen());
    assert!(matches!(world.admit(), Admission::Open));
    assert_eq!(world.fail(None), Some(10), "nothing was forgiven yet");
}

#[test]
fn the_plain_rules_let_everybody_back_and_count_from_zero() {
    let mut world = World::plain();
    world.fail(None);
    assert_eq!(world.fail(None), Some(5));
    world.pass(5);
    assert!(matches!(world.admit(), Admission::Open));
    assert!(matches!(world.admit(), Admission::Open));
    assert_eq!(
        world.fail(None),
        None,
        "a new bench needs a fresh run of failures"
    );
    assert_eq!(world.fail(None), Some(10), "at the doubled cooldown");
}

#[test]
fn a_factor_of_one_or_less_is_replaced() {
    let mut world = World::new();
    world.config.factor = 1.0;
    world.fail(None);
    world.fail(None);
    world.pass(5);
    let probe = world.probe();
    assert_eq!(world.fail(Some(probe)), Some(10));
}

proptest! {
    #[test]
    fn whatever_happens_there_is_at_most_one_probe_and_no_bench_beyond_the_maximum(
        steps in proptest::collection::vec((0u8..6, 0u64..400), 0..60),
    ) {
        let mut world = World::new();
        let mut open: Option<u64> = None;
        for (what, seconds) in steps {
            world.pass(seconds);
            match what {
                0 | 1 => { world.fail(None); }
                2 => match world.admit() {
                    Admission::Probe(number) => {
                        prop_assert!(open.is_none(), "a second probe");
                        open = Some(number);
                    }
                    Admission::Open => prop_assert!(world.state.benched(world.now).is_none()),
                    Admission::Denied(denied) => {
                        prop_assert!(denied.probing || denied.wait > Duration::ZERO);
                    }
                },
                3 => { world.fail(open.take()); }
                4 => { if let Some(probe) = open.take() { world.state.release(probe); } }
                _ => { open = None; world.state.succeed(); }
            }
            if let Some((_, left, _)) = world.state.benched(world.now) {
                prop_assert!(left <= world.config.max);
            }
        }
    }
}
