//! The circuit breaker on simulated time.

use majordomo_llm::{Class, ErrorKind};

use super::*;
use crate::clock::{Clock, RuntimeClock};

struct TestBreaker {
    breaker: CircuitBreaker,
    config: HealthConfig,
    now: Instant,
}

impl TestBreaker {
    fn new() -> Self {
        Self {
            breaker: CircuitBreaker::default(),
            config: HealthConfig::default(),
            now: RuntimeClock.now(),
        }
    }

    fn plain() -> Self {
        let mut test = Self::new();
        test.config.single_probe = false;
        test
    }

    fn admit(&mut self) -> Admission {
        self.breaker.admit(self.now, &self.config)
    }

    fn fail(&mut self, pass: Pass) -> Option<u64> {
        self.failed(HealthFailure::Counted(Duration::ZERO), pass)
    }

    fn failed(&mut self, failure: HealthFailure, mut pass: Pass) -> Option<u64> {
        let wait = self
            .breaker
            .fail(failure, &mut pass, why(), self.now, &self.config);
        wait.map(|wait| wait.as_secs())
    }

    fn succeed(&mut self) -> bool {
        self.breaker.succeed(self.now)
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
        let bench = self.breaker.benched(self.now);
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
    let mut test = TestBreaker::new();
    assert_eq!(test.fail(Pass::Open), None);
    assert_eq!(test.fail(Pass::Open), Some(5));
    let Admission::Denied(denied) = test.admit() else {
        panic!("a benched target is not called");
    };
    assert_eq!(denied.wait, Duration::from_secs(5));
    assert_eq!((denied.probing, denied.cause), (false, Some(why())));
}

#[test]
fn a_success_between_failures_restarts_the_count() {
    let mut test = TestBreaker::new();
    test.fail(Pass::Open);
    test.succeed();
    assert_eq!(test.fail(Pass::Open), None);
}

#[test]
fn each_round_doubles_up_to_five_minutes() {
    let mut test = TestBreaker::new();
    test.fail(Pass::Open);
    test.fail(Pass::Open);
    let mut waits = vec![];
    for _ in 0..8 {
        test.pass(300);
        let probe = test.probe();
        waits.push(test.fail(probe).unwrap());
    }
    assert_eq!(waits, [10, 20, 40, 80, 160, 300, 300, 300]);
}

#[test]
fn a_success_resets_the_backoff() {
    let mut test = TestBreaker::new();
    test.fail(Pass::Open);
    test.fail(Pass::Open);
    test.pass(5);
    test.probe();
    assert!(test.succeed());
    test.fail(Pass::Open);
    assert_eq!(test.fail(Pass::Open), Some(5));
}

#[test]
fn after_a_bench_one_request_probes_and_the_others_are_denied() {
    let mut test = TestBreaker::new();
    test.fail(Pass::Open);
    test.fail(Pass::Open);
    test.pass(5);
    let probe = test.probe();
    assert!(matches!(test.admit(), Admission::Denied(d) if d.probing && d.wait.is_zero()));
    let Pass::Probe(number) = probe else {
        panic!("a probe has a number");
    };
    test.breaker.release(number);
    assert_ne!(test.probe(), probe, "a released probe admits another");
}

#[test]
fn a_failed_probe_benches_at_once() {
    let mut test = TestBreaker::new();
    test.fail(Pass::Open);
    test.fail(Pass::Open);
    test.pass(5);
    let probe = test.probe();
    assert_eq!(test.fail(probe), Some(10));
}

#[test]
fn stragglers_do_not_lengthen_the_bench_that_they_caused() {
    let mut test = TestBreaker::new();
    test.fail(Pass::Open);
    test.fail(Pass::Open);
    assert_eq!(test.fail(Pass::Open), None);
    assert_eq!(test.fail(Pass::Open), None);
    assert_eq!(test.breaker.rounds(), 1);
}

#[test]
fn retry_after_lengthens_a_bench_and_never_shortens_it() {
    let mut test = TestBreaker::new();
    test.fail(Pass::Open);
    test.fail(Pass::Open);
    test.failed(
        HealthFailure::Throttled(Duration::from_secs(30)),
        Pass::Open,
    );
    test.failed(HealthFailure::Throttled(Duration::from_secs(1)), Pass::Open);
    assert_eq!(test.left(), Duration::from_secs(30));
}

#[test]
fn throttling_counts_no_failure() {
    let mut test = TestBreaker::new();
    assert_eq!(
        test.failed(HealthFailure::Throttled(Duration::from_secs(7)), Pass::Open),
        Some(7)
    );
    assert_eq!((test.breaker.failures(), test.breaker.rounds()), (0, 0));
}

#[test]
fn a_credential_is_benched_longer_every_time_up_to_an_hour() {
    let mut test = TestBreaker::new();
    let growing = HealthFailure::Growing(Duration::from_secs(300));
    let mut waits = vec![test.failed(growing, Pass::Open).unwrap()];
    for _ in 0..5 {
        test.pass(3_600);
        let probe = test.probe();
        waits.push(test.failed(growing, probe).unwrap());
    }
    assert_eq!(waits, [300, 600, 1_200, 2_400, 3_600, 3_600]);
}

#[test]
fn every_request_without_another_target_is_forced_through_a_bench() {
    let mut test = TestBreaker::new();
    test.fail(Pass::Open);
    test.fail(Pass::Open);
    for _ in 0..5 {
        assert!(is_forced(&test.breaker.force(test.now)));
    }
    test.pass(5);
    test.probe();
    assert!(
        is_forced(&test.breaker.force(test.now)),
        "even during a probe"
    );
}

#[test]
fn a_failed_forced_attempt_leaves_the_bench_unchanged() {
    let mut test = TestBreaker::new();
    test.fail(Pass::Open);
    test.fail(Pass::Open);
    test.pass(1);
    for _ in 0..100 {
        assert_eq!(test.fail(Pass::Forced), None);
        let suspended = HealthFailure::Suspended(Duration::from_secs(300));
        assert_eq!(test.failed(suspended, Pass::Forced), None);
    }
    assert_eq!(test.left(), Duration::from_secs(4));
    assert_eq!((test.breaker.failures(), test.breaker.rounds()), (0, 1));
}

#[test]
fn a_forced_attempt_that_fails_after_the_target_recovered_counts_for_nothing() {
    let mut test = TestBreaker::new();
    test.fail(Pass::Open);
    test.fail(Pass::Open);
    test.succeed();
    assert_eq!(test.fail(Pass::Forced), None);
    assert_eq!(test.breaker.failures(), 0);
}

#[test]
fn no_request_is_forced_through_a_retry_after() {
    let mut test = TestBreaker::new();
    test.failed(HealthFailure::Throttled(Duration::from_secs(7)), Pass::Open);
    test.pass(6);
    assert!(matches!(test.breaker.force(test.now), Admission::Denied(_)));
    test.pass(1);
    assert!(is_forced(&test.breaker.force(test.now)));
}

#[test]
fn a_retry_after_received_by_a_forced_attempt_is_honored() {
    let mut test = TestBreaker::new();
    test.fail(Pass::Open);
    test.fail(Pass::Open);
    let pause = HealthFailure::Counted(Duration::from_secs(30));
    assert_eq!(test.failed(pause, Pass::Forced), Some(30));
    assert!(matches!(test.breaker.force(test.now), Admission::Denied(_)));
    assert_eq!(test.breaker.rounds(), 1, "and nothing is counted");
}

#[test]
fn the_success_of_an_older_request_does_not_end_a_retry_after() {
    let mut test = TestBreaker::new();
    test.fail(Pass::Open);
    test.fail(Pass::Open);
    test.failed(HealthFailure::Throttled(Duration::from_secs(3)), Pass::Open);
    assert!(!test.succeed());
    assert_eq!(test.left(), Duration::from_secs(3));
    assert_eq!(test.breaker.rounds(), 0, "the rest is reset");
    assert!(test.breaker.reset(), "a reset by hand ends it");
    assert!(is_open(&test.admit()));
}

#[test]
fn a_probes_committed_stream_admits_others_until_the_next_failure() {
    let mut test = TestBreaker::new();
    test.fail(Pass::Open);
    test.fail(Pass::Open);
    test.pass(5);
    test.probe();
    assert!(test.breaker.reopen(test.now));
    assert!(is_open(&test.admit()));
    assert_eq!(test.fail(Pass::Open), Some(10), "nothing was reset yet");
}

#[test]
fn without_single_probe_all_requests_return_and_failures_count_from_zero() {
    let mut test = TestBreaker::plain();
    test.fail(Pass::Open);
    assert_eq!(test.fail(Pass::Open), Some(5));
    test.pass(5);
    assert!(is_open(&test.admit()));
    assert!(is_open(&test.admit()));
    assert_eq!(
        test.fail(Pass::Open),
        None,
        "a new bench needs a fresh run of failures"
    );
    assert_eq!(test.fail(Pass::Open), Some(10), "at the doubled cooldown");
}

#[test]
fn a_factor_of_one_or_less_is_replaced() {
    let mut test = TestBreaker::new();
    test.config.factor = 1.0;
    test.fail(Pass::Open);
    test.fail(Pass::Open);
    test.pass(5);
    let probe = test.probe();
    assert_eq!(test.fail(probe), Some(10));
}

mod sequences;
