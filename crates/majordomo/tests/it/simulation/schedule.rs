//! One seed: its targets, its callers, and the invariants.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use majordomo::chain::{AllBenched, ChainConfig};
use majordomo::llm::{AttemptLog, AttemptOutcome};
use majordomo::{Chain, Error, ErrorKind, Event, Registry, Result};
use tokio::time::{Instant, sleep, timeout};

use super::dice::Dice;
use super::oracle::{Oracle, is_forced};
use super::world::{Listener, SharedWatch, Sim, Totals, Watch, request};

/// A caller; several callers of a schedule share the first four fields.
struct Caller {
    registry: Registry,
    chain: Chain,
    retries: u32,
    watch: SharedWatch,
    dice: Dice,
    /// Only a single caller can be checked against the oracle.
    oracle: Option<Oracle>,
    totals: Totals,
    broken: Vec<String>,
}

/// How one request ended.
enum End {
    Served(AttemptLog),
    Streamed(AttemptLog, String, Result<(), Error>),
    Failed(Error),
    Cancelled,
}

/// Runs one seed and returns the broken invariants.
pub(crate) fn run(seed: u64, totals: &mut Totals) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O always starts");
    runtime.block_on(world(seed, totals))
}

async fn world(seed: u64, totals: &mut Totals) -> Vec<String> {
    let mut dice = Dice::new(seed);
    let retries = dice.below(3) as u32;
    let watch: SharedWatch = Arc::new(Mutex::new(Watch::default()));
    let config = ChainConfig::default()
        .with_retries(retries)
        .with_advance_on_permanent(dice.chance(30))
        .with_all_benched(if dice.chance(80) {
            AllBenched::LeastBad
        } else {
            AllBenched::Fail
        });
    let registry = Registry::builder()
        .environment(BTreeMap::new())
        .chain(config)
        .observer(Arc::new(Listener(Arc::clone(&watch))))
        .build();
    for name in ["p", "q"] {
        Sim::register(&registry, name, dice.roll(), &watch);
    }
    let mut names = ["p/a", "p/b", "q/a", "q/b", "q/c"].to_vec();
    let length = 1 + dice.below(4) as usize;
    let spec: Vec<&str> = (0..length)
        .map(|_| names.remove(dice.below(names.len() as u64) as usize))
        .collect();
    let chain = registry.model(&spec.join(",")).expect("all are registered");

    let callers = 1 + dice.below(4);
    let mut tasks = Vec::new();
    for _ in 0..callers {
        let caller = Caller {
            registry: registry.clone(),
            chain: chain.clone(),
            retries,
            watch: Arc::clone(&watch),
            dice: Dice::new(dice.roll()),
            oracle: (callers == 1).then(Oracle::default),
            totals: Totals::default(),
            broken: Vec::new(),
        };
        tasks.push(tokio::spawn(caller.live()));
    }
    let mut broken = Vec::new();
    for task in tasks {
        let (found, sums) = task.await.expect("a caller never panics");
        broken.extend(found);
        totals.requests += sums.requests;
        totals.served += sums.served;
        totals.exhausted += sums.exhausted;
        totals.cancelled += sums.cancelled;
        totals.deadlines += sums.deadlines;
        totals.broken_streams += sums.broken_streams;
        totals.last_resorts += sums.last_resorts;
    }
    let mut watch = Watch::of(&watch);
    totals.benches += watch.benches;
    totals.probes += watch.probes;
    broken.append(&mut watch.broken);
    broken
}

impl Caller {
    async fn live(mut self) -> (Vec<String>, Totals) {
        for _ in 0..1 + self.dice.below(6) {
            sleep(Duration::from_millis(self.dice.below(30_000))).await;
            self.totals.requests += 1;
            let began = Instant::now();
            let streamed = self.dice.chance(50);
            let leaves_early = self.dice.chance(60);
            let cancel_after = Duration::from_millis(self.dice.below(60_000));
            let work = self.send(streamed);
            let end = if leaves_early {
                timeout(cancel_after, work).await.unwrap_or(End::Cancelled)
            } else {
                work.await
            };
            self.judge(end, began, streamed);
        }
        (self.broken, self.totals)
    }

    async fn send(&mut self, streamed: bool) -> End {
        let request = request(&mut self.dice);
        let limit = Duration::from_millis(1 + self.dice.below(90_000));
        let request = request.timeout(limit);
        if !streamed {
            return match self.chain.generate(request).await {
                Ok(response) => End::Served(response.attempt_log),
                Err(error) => End::Failed(error),
            };
        }
        let mut open = match self.chain.open(request).await {
            Ok(open) => open,
            Err(error) => return End::Failed(error),
        };
        let mut ended = None;
        let mut items = 0;
        while let Some(item) = next(&mut open.events).await {
            items += 1;
            if ended.is_some() {
                self.broken.push(format!("{item:?} came after the end"));
            }
            match item {
                Ok(Event::Finish(_)) => ended = Some(Ok(())),
                Ok(_) => {}
                Err(error) => ended = Some(Err(error)),
            }
        }
        if items == 0 {
            self.broken.push("an open stream yielded nothing".into());
        }
        match ended {
            Some(end) => End::Streamed(open.attempt_log, open.target, end),
            None => {
                self.broken.push("a stream ended without an end".into());
                End::Cancelled
            }
        }
    }

    fn judge(&mut self, end: End, began: Instant, streamed: bool) {
        match &end {
            End::Served(attempt_log) => {
                self.totals.served += 1;
                self.check_attempt_log(attempt_log, true);
                self.served_target_is_healthy(attempt_log);
            }
            End::Streamed(attempt_log, _, result) => {
                self.totals.served += 1;
                self.check_attempt_log(attempt_log, true);
                self.totals.broken_streams += u64::from(result.is_err());
            }
            End::Failed(error) => {
                self.check_attempt_log(error.attempt_log(), false);
                match error.kind() {
                    ErrorKind::Exhausted => {
                        self.totals.exhausted += 1;
                        self.every_target_is_named(error);
                    }
                    ErrorKind::Deadline => self.totals.deadlines += 1,
                    _ => {}
                }
            }
            End::Cancelled => self.totals.cancelled += 1,
        }
        self.second_opinion(&end, began, streamed);
    }

    /// Attempts are bounded, in the chain's order, and each benched target is forced at most once.
    fn check_attempt_log(&mut self, attempt_log: &AttemptLog, served: bool) {
        let targets: Vec<String> = self.chain.targets().map(|t| t.to_string()).collect();
        let place = |name: &str| targets.iter().position(|target| target == name);
        let bound = targets.len() * (2 + self.retries as usize);
        if attempt_log.calls() > bound {
            self.broken
                .push(format!("{} calls, at most {bound}", attempt_log.calls()));
        }
        let mut last = 0;
        let mut resorts = 0;
        for (index, attempt) in attempt_log.attempts.iter().enumerate() {
            let Some(place) = place(&attempt.target) else {
                self.broken
                    .push(format!("{} is not in the chain", attempt.target));
                continue;
            };
            let called = !matches!(attempt.outcome, AttemptOutcome::Skipped { .. });
            if place < last {
                // Going back is the last resort, in which a benched target is called once,
                // or the second pass of a reduced request, which no target could take.
                resorts += u64::from(called);
                let before = &attempt_log.attempts[..index];
                let mut failed = before.iter().filter(|other| {
                    matches!(other.outcome, AttemptOutcome::Failed { class, .. } if !class.is_incapable())
                });
                // A stale connection is replaced at once.
                let again = before
                    .last()
                    .is_some_and(|last| last.target == attempt.target);
                let twice = !again && failed.clone().any(|other| other.target == attempt.target);
                let forced = is_forced(before, &attempt.target);
                if called && (twice || (!forced && failed.next().is_some())) {
                    self.broken.push(format!("went back to {attempt}"));
                }
            }
            last = last.max(place);
        }
        self.totals.last_resorts += resorts;
        let ends_served = matches!(
            attempt_log.attempts.last().map(|a| &a.outcome),
            Some(AttemptOutcome::Served)
        );
        if ends_served != served {
            self.broken
                .push(format!("served is {served} in {attempt_log:?}"));
        }
    }

    /// A success resets the target's health.
    fn served_target_is_healthy(&mut self, attempt_log: &AttemptLog) {
        let Some(attempt) = attempt_log.attempts.last() else {
            return;
        };
        if self.oracle.is_some() && Watch::of(&self.watch).is_benched(&attempt.target) {
            self.broken
                .push(format!("{} served and is benched", attempt.target));
        }
    }

    fn every_target_is_named(&mut self, error: &Error) {
        let text = error.to_string();
        for target in self.chain.targets() {
            if !text.contains(target.as_str()) {
                self.broken.push(format!("{target} is missing in: {text}"));
            }
        }
    }

    /// Without other callers the tracked health must agree with the oracle.
    fn second_opinion(&mut self, end: &End, began: Instant, streamed: bool) {
        let Some(oracle) = &mut self.oracle else {
            return;
        };
        let now = Instant::now();
        let statuses = self.registry.health().snapshot();
        match end {
            End::Cancelled => return oracle.adopt(&statuses, now),
            End::Served(attempt_log) => oracle.learn(&attempt_log.attempts, began, streamed),
            End::Failed(error) => oracle.learn(&error.attempt_log().attempts, began, streamed),
            End::Streamed(attempt_log, target, result) => {
                oracle.learn(&attempt_log.attempts, began, streamed);
                match result {
                    Ok(()) => oracle.succeed(target),
                    Err(error) => {
                        let forced = is_forced(&attempt_log.attempts, target);
                        oracle.fail(target, error.class(), &error.reason(), now, forced);
                    }
                }
            }
        }
        self.broken.extend(oracle.compare(&statuses, now));
    }
}

async fn next(events: &mut majordomo::EventStream) -> Option<Result<Event>> {
    std::future::poll_fn(|cx| events.as_mut().poll_next(cx)).await
}
