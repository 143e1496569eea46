//! The invariants of a bench hold for any sequence of events.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// An event at a target. Indices choose among the outstanding permits.
#[derive(Clone, Debug)]
enum BreakerEvent {
    Pass(u64),
    Admit,
    Force,
    Fail(usize, u64),
    Throttle(usize, u64),
    Suspend(usize),
    Begin(usize),
    Succeed(usize),
    Leave(usize),
}

fn breaker_event() -> impl Strategy<Value = BreakerEvent> {
    let permit = 0..16_usize;
    prop_oneof![
        3 => (0..400_u64).prop_map(BreakerEvent::Pass),
        4 => Just(BreakerEvent::Admit),
        4 => Just(BreakerEvent::Force),
        6 => (permit.clone(), prop_oneof![4 => Just(0), 1 => 1..60_u64])
            .prop_map(|(which, wait)| BreakerEvent::Fail(which, wait)),
        1 => (permit.clone(), 0..60_u64).prop_map(|(which, wait)| BreakerEvent::Throttle(which, wait)),
        1 => permit.clone().prop_map(BreakerEvent::Suspend),
        1 => permit.clone().prop_map(BreakerEvent::Begin),
        2 => permit.clone().prop_map(BreakerEvent::Succeed),
        1 => permit.prop_map(BreakerEvent::Leave),
    ]
}

/// A breaker with requests in flight.
struct BusyBreaker {
    test: TestBreaker,
    out: Vec<Pass>,
    /// The end of the latest `Retry-After` received while benched.
    retry_after: Option<Instant>,
}

impl BusyBreaker {
    fn take(&mut self, which: usize) -> Option<Pass> {
        let count = self.out.len();
        (count > 0).then(|| self.out.swap_remove(which % count))
    }

    fn probes(&self) -> usize {
        let probes = self
            .out
            .iter()
            .filter(|pass| matches!(pass, Pass::Probe(_)));
        probes.count()
    }

    fn received_retry_after(&mut self, wait: u64) {
        let until = self.test.now + Duration::from_secs(wait);
        if wait > 0 && self.test.breaker.benched(self.test.now).is_some() {
            self.retry_after = self.retry_after.max(Some(until));
        }
    }

    fn is_closed(&self) -> bool {
        self.retry_after.is_some_and(|until| self.test.now < until)
    }

    fn admitted(&mut self, admission: Admission) -> Result<(), TestCaseError> {
        if let Admission::Granted(pass) = admission {
            prop_assert!(!self.is_closed(), "admitted within a Retry-After");
            self.out.push(pass);
        }
        Ok(())
    }

    fn fail(&mut self, pass: Pass, failure: HealthFailure, wait: u64) -> Result<(), TestCaseError> {
        let before = (
            self.test.left(),
            self.test.breaker.rounds(),
            self.test.breaker.failures(),
        );
        self.test.failed(failure, pass);
        self.received_retry_after(wait);
        let after = (
            self.test.left(),
            self.test.breaker.rounds(),
            self.test.breaker.failures(),
        );
        if pass == Pass::Forced && wait == 0 {
            prop_assert_eq!(before, after, "a forced attempt changed the breaker");
        }
        if pass == Pass::Forced {
            prop_assert_eq!((before.1, before.2), (after.1, after.2));
            prop_assert!(after.0 <= before.0.max(Duration::from_secs(wait)));
        }
        Ok(())
    }

    fn step(&mut self, step: &BreakerEvent) -> Result<(), TestCaseError> {
        match *step {
            BreakerEvent::Pass(seconds) => self.test.pass(seconds),
            BreakerEvent::Admit => {
                let admission = self.test.admit();
                if is_open(&admission) {
                    prop_assert!(self.test.breaker.benched(self.test.now).is_none());
                }
                self.admitted(admission)?;
            }
            BreakerEvent::Force => {
                let admission = self.test.breaker.force(self.test.now);
                if !self.is_closed() {
                    prop_assert!(matches!(admission, Admission::Granted(_)), "denied");
                }
                self.admitted(admission)?;
            }
            BreakerEvent::Fail(which, wait) => {
                if let Some(pass) = self.take(which) {
                    self.fail(
                        pass,
                        HealthFailure::Counted(Duration::from_secs(wait)),
                        wait,
                    )?;
                }
            }
            BreakerEvent::Throttle(which, wait) => {
                if let Some(pass) = self.take(which) {
                    self.fail(
                        pass,
                        HealthFailure::Throttled(Duration::from_secs(wait)),
                        wait,
                    )?;
                }
            }
            BreakerEvent::Suspend(which) => {
                if let Some(pass) = self.take(which) {
                    self.fail(pass, HealthFailure::Suspended(Duration::from_secs(300)), 0)?;
                }
            }
            BreakerEvent::Begin(which) => {
                let began = self.take(which);
                if let Some(pass @ Pass::Probe(_)) = began {
                    self.test.breaker.reopen(self.test.now);
                    prop_assert!(self.out.iter().all(|other| *other != pass));
                    self.out.push(Pass::Open);
                } else {
                    self.out.extend(began);
                }
            }
            BreakerEvent::Succeed(which) => {
                if self.take(which).is_some() {
                    self.test.succeed();
                    let benched = self.test.breaker.benched(self.test.now).is_some();
                    prop_assert_eq!(benched, self.is_closed(), "a success ends the bench");
                    prop_assert_eq!(
                        (self.test.breaker.failures(), self.test.breaker.rounds()),
                        (0, 0)
                    );
                }
            }
            BreakerEvent::Leave(which) => {
                if let Some(Pass::Probe(number)) = self.take(which) {
                    self.test.breaker.release(number);
                }
            }
        }
        Ok(())
    }
}

fn run(mut test: TestBreaker, steps: &[BreakerEvent]) -> Result<(), TestCaseError> {
    test.config.max = Duration::from_secs(300);
    let single = test.config.single_probe;
    let mut busy = BusyBreaker {
        test,
        out: Vec::new(),
        retry_after: None,
    };
    for step in steps {
        busy.step(step)?;
        prop_assert!(busy.test.left() <= busy.test.config.max);
        if !single {
            prop_assert_eq!(busy.probes(), 0);
        }
        if busy.is_closed() {
            prop_assert!(!is_forced(&busy.test.breaker.force(busy.test.now)));
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn forced_attempts_lengthen_no_bench_success_resets_and_retry_after_is_honored(
        steps in vec(breaker_event(), 0..120),
    ) {
        run(TestBreaker::new(), &steps)?;
    }

    #[test]
    fn the_same_holds_without_single_probe(steps in vec(breaker_event(), 0..120)) {
        run(TestBreaker::plain(), &steps)?;
    }

    #[test]
    fn there_is_at_most_one_probe_at_a_time(steps in vec((0u8..6, 0u64..400), 0..60)) {
        let mut test = TestBreaker::new();
        let mut open: Option<Pass> = None;
        for (what, seconds) in steps {
            test.pass(seconds);
            match what {
                0 | 1 => { test.fail(Pass::Open); }
                2 => match test.admit() {
                    Admission::Granted(pass @ Pass::Probe(_)) => {
                        prop_assert!(open.is_none(), "a second probe");
                        open = Some(pass);
                    }
                    Admission::Granted(_) => prop_assert!(test.breaker.benched(test.now).is_none()),
                    Admission::Denied(denied) => {
                        prop_assert!(denied.probing || denied.wait > Duration::ZERO);
                    }
                },
                3 => { test.fail(open.take().unwrap_or(Pass::Open)); }
                4 => if let Some(Pass::Probe(number)) = open.take() {
                    test.breaker.release(number);
                },
                _ => { open = None; test.succeed(); }
            }
        }
    }
}
