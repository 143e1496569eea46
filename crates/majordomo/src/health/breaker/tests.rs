//! The rules of health, on a clock that is a number.

use majordomo_llm::{Class, ErrorKind};

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

    fn fail(&mut self, pass: Pass) -> Option<u64> {
        self.failed(Failure::Counted(Duration::ZERO), pass)
    }

    fn failed(&mut self, failure: Failure, mut pass: Pass) -> Option<u64> {
        let wait = self
            .state
            .fail(failure, &mut pass, why(), self.now, &self.config);
        wait.map(|wait| wait.as_secs())
    }

    fn succeed(&mut self) -> bool {
        self.state.succeed(self.now)
    }

    fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    fn probe(&mut self) -> Pass {
        match self.admit() {
            Admission::Granted(pass @ Pass::Probe(_)) => pass,
            other => panic!("expected a probe, got {other:?}"),
        }
    }

    fn left(&self) -> Duration {
        let bench = self.state.benched(self.now);
        bench.map(|bench| bench.left).unwrap_or_default()
    }
}

fn why() -> BenchCause {
    BenchCause::Failed {
        kind: ErrorKind::Provider,
        class: Class::Transient,
        status: Some(500),
    }
}

fn is_open(admission: &Admission) -> bool {
    matches!(admission, Admission::Granted(Pass::Open))
}

fn is_forced(admission: &Admission) -> bool {
    matches!(admission, Admission::Granted(Pass::Forced))
}

#[test]
fn two_consecutive_failures_bench_for_five_seconds() {
    let mut world = World::new();
    assert_eq!(world.fail(Pass::Open), None);
    assert_eq!(world.fail(Pass::Open), Some(5));
    let Admission::Denied(denied) = world.admit() else {
        panic!("a benched target is not asked");
    };
    assert_eq!(denied.wait, Duration::from_secs(5));
    assert_eq!((denied.probing, denied.cause), (false, Some(why())));
}

#[test]
fn a_success_between_failures_starts_the_count_anew() {
    let mut world = World::new();
    world.fail(Pass::Open);
    world.succeed();
    assert_eq!(world.fail(Pass::Open), None);
}

#[test]
fn each_round_doubles_up_to_five_minutes() {
    let mut world = World::new();
    world.fail(Pass::Open);
    world.fail(Pass::Open);
    let mut waits = vec![];
    for _ in 0..8 {
        world.pass(300);
        let probe = world.probe();
        waits.push(world.fail(probe).unwrap());
    }
    assert_eq!(waits, [10, 20, 40, 80, 160, 300, 300, 300]);
}

#[test]
fn a_success_resets_the_backoff() {
    let mut world = World::new();
    world.fail(Pass::Open);
    world.fail(Pass::Open);
    world.pass(5);
    world.probe();
    assert!(world.succeed());
    world.fail(Pass::Open);
    assert_eq!(world.fail(Pass::Open), Some(5));
}

#[test]
fn after_a_bench_one_probe_goes_and_the_others_stay_away() {
    let mut world = World::new();
    world.fail(Pass::Open);
    world.fail(Pass::Open);
    world.pass(5);
    let probe = world.probe();
    assert!(matches!(world.admit(), Admission::Denied(d) if d.probing && d.wait.is_zero()));
    let Pass::Probe(number) = probe else {
        panic!("a probe has a number");
    };
    world.state.release(number);
    assert_ne!(
        world.probe(),
        probe,
        "an undecided probe gives its place back"
    );
}

#[test]
fn a_failed_probe_benches_at_once() {
    let mut world = World::new();
    world.fail(Pass::Open);
    world.fail(Pass::Open);
    world.pass(5);
    let probe = world.probe();
    assert_eq!(world.fail(probe), Some(10));
}

#[test]
fn stragglers_do_not_lengthen_the_bench_that_they_caused() {
    let mut world = World::new();
    world.fail(Pass::Open);
    world.fail(Pass::Open);
    assert_eq!(world.fail(Pass::Open), None);
    assert_eq!(world.fail(Pass::Open), None);
    assert_eq!(world.state.rounds(), 1);
}

#[test]
fn retry_after_lengthens_a_bench_and_never_shortens_it() {
    let mut world = World::new();
    world.fail(Pass::Open);
    world.fail(Pass::Open);
    world.failed(Failure::Throttled(Duration::from_secs(30)), Pass::Open);
    world.failed(Failure::Throttled(Duration::from_secs(1)), Pass::Open);
    assert_eq!(world.left(), Duration::from_secs(30));
}

#[test]
fn throttling_counts_no_failure() {
    let mut world = World::new();
    assert_eq!(
        world.failed(Failure::Throttled(Duration::from_secs(7)), Pass::Open),
        Some(7)
    );
    assert_eq!((world.state.failures(), world.state.rounds()), (0, 0));
}

#[test]
fn a_credential_is_benched_longer_every_time_up_to_an_hour() {
    let mut world = World::new();
    let growing = Failure::Growing(Duration::from_secs(300));
    let mut waits = vec![world.failed(growing, Pass::Open).unwrap()];
    for _ in 0..5 {
        world.pass(3_600);
        let probe = world.probe();
        waits.push(world.failed(growing, probe).unwrap());
    }
    assert_eq!(waits, [300, 600, 1_200, 2_400, 3_600, 3_600]);
}

#[test]
fn every_request_that_nobody_else_can_serve_goes_through_a_bench() {
    let mut world = World::new();
    world.fail(Pass::Open);
    world.fail(Pass::Open);
    for _ in 0..5 {
        assert!(is_forced(&world.state.force(world.now)));
    }
    world.pass(5);
    world.probe();
    assert!(
        is_forced(&world.state.force(world.now)),
        "past a probe, too"
    );
}

#[test]
fn a_failed_forced_attempt_leaves_the_bench_as_it_is() {
    let mut world = World::new();
    world.fail(Pass::Open);
    world.fail(Pass::Open);
    world.pass(1);
    for _ in 0..100 {
        assert_eq!(world.fail(Pass::Forced), None);
        let suspended = Failure::Suspended(Duration::from_secs(300));
        assert_eq!(world.failed(suspended, Pass::Forced), None);
    }
    assert_eq!(world.left(), Duration::from_secs(4));
    assert_eq!((world.state.failures(), world.state.rounds()), (0, 1));
}

#[test]
fn a_forced_attempt_that_fails_after_the_target_healed_counts_for_nothing() {
    let mut world = World::new();
    world.fail(Pass::Open);
    world.fail(Pass::Open);
    world.succeed();
    assert_eq!(world.fail(Pass::Forced), None);
    assert_eq!(world.state.failures(), 0);
}

#[test]
fn nobody_goes_through_a_retry_after() {
    let mut world = World::new();
    world.failed(Failure::Throttled(Duration::from_secs(7)), Pass::Open);
    world.pass(6);
    assert!(matches!(world.state.force(world.now), Admission::Denied(_)));
    world.pass(1);
    assert!(is_forced(&world.state.force(world.now)));
}

#[test]
fn a_retry_after_that_a_forced_attempt_heard_is_obeyed() {
    let mut world = World::new();
    world.fail(Pass::Open);
    world.fail(Pass::Open);
    let told = Failure::Counted(Duration::from_secs(30));
    assert_eq!(world.failed(told, Pass::Forced), Some(30));
    assert!(matches!(world.state.force(world.now), Admission::Denied(_)));
    assert_eq!(world.state.rounds(), 1, "and nothing is counted");
}

#[test]
fn the_success_of_an_older_request_does_not_end_a_retry_after() {
    let mut world = World::new();
    world.fail(Pass::Open);
    world.fail(Pass::Open);
    world.failed(Failure::Throttled(Duration::from_secs(3)), Pass::Open);
    assert!(!world.succeed());
    assert_eq!(world.left(), Duration::from_secs(3));
    assert_eq!(world.state.rounds(), 0, "the rest is forgiven");
    assert!(world.state.reset(), "by hand it ends");
    assert!(is_open(&world.admit()));
}

#[test]
fn a_probes_stream_that_began_lets_others_in_until_the_next_failure() {
    let mut world = World::new();
    world.fail(Pass::Open);
    world.fail(Pass::Open);
    world.pass(5);
    world.probe();
    assert!(world.state.reopen(world.now));
    assert!(is_open(&world.admit()));
    assert_eq!(world.fail(Pass::Open), Some(10), "nothing was forgiven yet");
}

#[test]
fn the_plain_rules_let_everybody_back_and_count_from_zero() {
    let mut world = World::plain();
    world.fail(Pass::Open);
    assert_eq!(world.fail(Pass::Open), Some(5));
    world.pass(5);
    assert!(is_open(&world.admit()));
    assert!(is_open(&world.admit()));
    assert_eq!(
        world.fail(Pass::Open),
        None,
        "a new bench needs a fresh run of failures"
    );
    assert_eq!(world.fail(Pass::Open), Some(10), "at the doubled cooldown");
}

#[test]
fn a_factor_of_one_or_less_is_replaced() {
    let mut world = World::new();
    world.config.factor = 1.0;
    world.fail(Pass::Open);
    world.fail(Pass::Open);
    world.pass(5);
    let probe = world.probe();
    assert_eq!(world.fail(probe), Some(10));
}

mod sequences;
