//! Whatever happens in whatever order, the promises of a bench hold.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Something that happens to a target. Indices choose among the permits that are out.
#[derive(Clone, Debug)]
enum Step {
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

fn step() -> impl Strategy<Value = Step> {
    let permit = 0..16_usize;
    prop_oneof![
        3 => (0..400_u64).prop_map(Step::Pass),
        4 => Just(Step::Admit),
        4 => Just(Step::Force),
        6 => (permit.clone(), prop_oneof![4 => Just(0), 1 => 1..60_u64])
            .prop_map(|(which, wait)| Step::Fail(which, wait)),
        1 => (permit.clone(), 0..60_u64).prop_map(|(which, wait)| Step::Throttle(which, wait)),
        1 => permit.clone().prop_map(Step::Suspend),
        1 => permit.clone().prop_map(Step::Begin),
        2 => permit.clone().prop_map(Step::Succeed),
        1 => permit.prop_map(Step::Leave),
    ]
}

/// A world with requests under way, and what the provider asked for.
struct Busy {
    world: World,
    out: Vec<Pass>,
    /// The end of the latest Retry-After that was told while it mattered.
    retry_after: Option<Instant>,
}

impl Busy {
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

    fn told(&mut self, wait: u64) {
        let until = self.world.now + Duration::from_secs(wait);
        if wait > 0 && self.world.state.benched(self.world.now).is_some() {
            self.retry_after = self.retry_after.max(Some(until));
        }
    }

    fn is_closed(&self) -> bool {
        self.retry_after.is_some_and(|until| self.world.now < until)
    }

    fn admitted(&mut self, admission: Admission) -> Result<(), TestCaseError> {
        if let Admission::Granted(pass) = admission {
            prop_assert!(!self.is_closed(), "let in within a Retry-After");
            self.out.push(pass);
        }
        Ok(())
    }

    fn fail(&mut self, pass: Pass, failure: Failure, wait: u64) -> Result<(), TestCaseError> {
        let before = (
            self.world.left(),
            self.world.state.rounds(),
            self.world.state.failures(),
        );
        self.world.failed(failure, pass);
        self.told(wait);
        let after = (
            self.world.left(),
            self.world.state.rounds(),
            self.world.state.failures(),
        );
        if pass == Pass::Forced && wait == 0 {
            prop_assert_eq!(before, after, "a forced attempt changed something");
        }
        if pass == Pass::Forced {
            prop_assert_eq!((before.1, before.2), (after.1, after.2));
            prop_assert!(after.0 <= before.0.max(Duration::from_secs(wait)));
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Pass(seconds) => self.world.pass(seconds),
            Step::Admit => {
                let admission = self.world.admit();
                if is_open(&admission) {
                    prop_assert!(self.world.state.benched(self.world.now).is_none());
                }
                self.admitted(admission)?;
            }
            Step::Force => {
                let admission = self.world.state.force(self.world.now);
                if !self.is_closed() {
                    prop_assert!(matches!(admission, Admission::Granted(_)), "kept out");
                }
                self.admitted(admission)?;
            }
            Step::Fail(which, wait) => {
                if let Some(pass) = self.take(which) {
                    self.fail(pass, Failure::Counted(Duration::from_secs(wait)), wait)?;
                }
            }
            Step::Throttle(which, wait) => {
                if let Some(pass) = self.take(which) {
                    self.fail(pass, Failure::Throttled(Duration::from_secs(wait)), wait)?;
                }
            }
            Step::Suspend(which) => {
                if let Some(pass) = self.take(which) {
                    self.fail(pass, Failure::Suspended(Duration::from_secs(300)), 0)?;
                }
            }
            Step::Begin(which) => {
                let began = self.take(which);
                if let Some(pass @ Pass::Probe(_)) = began {
                    self.world.state.reopen(self.world.now);
                    prop_assert!(self.out.iter().all(|other| *other != pass));
                    self.out.push(Pass::Open);
                } else {
                    self.out.extend(began);
                }
            }
            Step::Succeed(which) => {
                if self.take(which).is_some() {
                    self.world.succeed();
                    let benched = self.world.state.benched(self.world.now).is_some();
                    prop_assert_eq!(benched, self.is_closed(), "success heals");
                    prop_assert_eq!(
                        (self.world.state.failures(), self.world.state.rounds()),
                        (0, 0)
                    );
                }
            }
            Step::Leave(which) => {
                if let Some(Pass::Probe(number)) = self.take(which) {
                    self.world.state.release(number);
                }
            }
        }
        Ok(())
    }
}

fn run(mut world: World, steps: &[Step]) -> Result<(), TestCaseError> {
    world.config.max = Duration::from_secs(300);
    let single = world.config.single_probe;
    let mut busy = Busy {
        world,
        out: Vec::new(),
        retry_after: None,
    };
    for step in steps {
        busy.step(step)?;
        prop_assert!(busy.world.left() <= busy.world.config.max);
        if !single {
            prop_assert_eq!(busy.probes(), 0);
        }
        if busy.is_closed() {
            prop_assert!(!is_forced(&busy.world.state.force(busy.world.now)));
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn forced_attempts_lengthen_nothing_success_heals_and_a_retry_after_is_respected(
        steps in vec(step(), 0..120),
    ) {
        run(World::new(), &steps)?;
    }

    #[test]
    fn the_same_holds_when_everybody_comes_back_at_once(steps in vec(step(), 0..120)) {
        run(World::plain(), &steps)?;
    }

    #[test]
    fn there_is_at_most_one_probe_at_a_time(steps in vec((0u8..6, 0u64..400), 0..60)) {
        let mut world = World::new();
        let mut open: Option<Pass> = None;
        for (what, seconds) in steps {
            world.pass(seconds);
            match what {
                0 | 1 => { world.fail(Pass::Open); }
                2 => match world.admit() {
                    Admission::Granted(pass @ Pass::Probe(_)) => {
                        prop_assert!(open.is_none(), "a second probe");
                        open = Some(pass);
                    }
                    Admission::Granted(_) => prop_assert!(world.state.benched(world.now).is_none()),
                    Admission::Denied(denied) => {
                        prop_assert!(denied.probing || denied.wait > Duration::ZERO);
                    }
                },
                3 => { world.fail(open.take().unwrap_or(Pass::Open)); }
                4 => if let Some(Pass::Probe(number)) = open.take() {
                    world.state.release(number);
                },
                _ => { open = None; world.succeed(); }
            }
        }
    }
}
