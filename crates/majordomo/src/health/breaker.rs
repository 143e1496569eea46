//! The circuit breaker of one target or credential. Pure: time is an argument.

use std::time::{Duration, Instant};

use super::HealthConfig;
use crate::bench_cause::BenchCause;

const DEFAULT_FACTOR: f64 = 2.0;
/// Longest bench, within what the clock can represent.
const MAX_BENCH: Duration = Duration::from_secs(100 * 365 * 86_400);
/// Every so many forced attempts, one may be retried: an outage must not multiply requests.
const FORCED_PER_RETRY: u32 = 10;
/// Longest bench of a credential.
const MAX_CREDENTIAL_BENCH: Duration = Duration::from_secs(3_600);

impl HealthConfig {
    fn cooldown(&self, round: u32) -> Duration {
        let factor = if self.factor > 1.0 {
            self.factor
        } else {
            DEFAULT_FACTOR
        };
        backoff(self.base, factor, round, self.max)
    }
}

/// Exponential backoff.
fn backoff(base: Duration, factor: f64, round: u32, max: Duration) -> Duration {
    let seconds = base.as_secs_f64() * factor.powi(i32::try_from(round).unwrap_or(i32::MAX));
    Duration::try_from_secs_f64(seconds).map_or(max, |wait| wait.min(max))
}

/// Closed without a bench, open during one, half-open after it.
#[derive(Debug, Default)]
pub(super) struct CircuitBreaker {
    failures: u32,
    rounds: u32,
    bench: Option<Bench>,
    /// The number of the probe in flight; a stale permit's number differs.
    probe: Option<u64>,
    probes: u64,
    /// A probe's stream committed but has not finished: others are admitted, and the next
    /// failure benches again immediately.
    on_trial: bool,
    /// Forced attempts until the next one may be retried.
    until_retry: u32,
}

#[derive(Clone, Debug)]
struct Bench {
    since: Instant,
    until: Instant,
    /// The bench holds without exception until then, as the provider demanded.
    closed_until: Option<Instant>,
    /// No success ends the bench until then, as the operator set the time.
    held_until: Option<Instant>,
    cause: BenchCause,
}

impl Bench {
    fn is_closed(&self, now: Instant) -> bool {
        self.closed_until.is_some_and(|until| now < until)
    }
}

/// A bench relative to now.
pub(super) struct BenchView {
    /// How long the bench has lasted.
    pub(super) since: Duration,
    /// How long it still lasts.
    pub(super) left: Duration,
    /// Whether it holds even when no other target can serve.
    pub(super) closed: bool,
    pub(super) cause: BenchCause,
}

/// How a request was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// The target was healthy.
    Open,
    /// Its bench had expired; this request is the probe with this number.
    Probe(u64),
    /// It is benched, but no other target could serve. Only a success affects its health,
    /// because the number of failures depends on the number of clients.
    Forced,
}

/// Whether a target may be called.
#[derive(Debug)]
pub(super) enum Admission {
    Granted(Pass),
    Denied(Denied),
}

/// Why a target may not be called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Denied {
    /// How long the bench still lasts; zero while only a probe is in flight.
    pub(crate) wait: Duration,
    pub(crate) probing: bool,
    pub(crate) cause: Option<BenchCause>,
    /// Whether the bench holds even when no other target can serve.
    pub(crate) closed: bool,
    /// Benches since the last success.
    rounds: u32,
}

impl Denied {
    /// Sorts benched targets for the last resort, most promising first. The fewer benches
    /// since its last success, the more likely one request caused the bench; a target that
    /// could not be reached comes after one that responded, and one that was benched by
    /// hand comes last. Among equals, the bench that ends first.
    pub(crate) fn last_resort_order(&self) -> (bool, u32, bool, Duration) {
        let (by_hand, unreachable) = match &self.cause {
            Some(BenchCause::ByHand { .. }) => (true, false),
            Some(BenchCause::Failed { kind, .. }) => (false, kind.is_unreachable()),
            None => (false, false),
        };
        (by_hand, self.rounds, unreachable, self.wait)
    }
}

/// The effect of a failed attempt.
#[derive(Clone, Copy, Debug)]
pub(super) enum HealthFailure {
    /// Counts towards the threshold; a bench lasts at least this long.
    Counted(Duration),
    /// Benches for this long without counting, as the provider demanded.
    Throttled(Duration),
    /// Benches for this long without counting.
    Suspended(Duration),
    /// Benches immediately, with exponential backoff: a rejected credential.
    Growing(Duration),
}

impl CircuitBreaker {
    pub(super) fn admit(&mut self, now: Instant, config: &HealthConfig) -> Admission {
        let Some(bench) = &self.bench else {
            return Admission::Granted(Pass::Open);
        };
        if now < bench.until {
            return self.denied(now);
        }
        if !config.single_probe {
            self.bench = None;
            return Admission::Granted(Pass::Open);
        }
        if self.probe.is_some() {
            return self.denied(now);
        }
        self.probes += 1;
        self.probe = Some(self.probes);
        Admission::Granted(Pass::Probe(self.probes))
    }

    /// Admits a request despite a bench or a probe: the last resort of a chain.
    pub(super) fn force(&mut self, now: Instant) -> Admission {
        match &self.bench {
            Some(bench) if bench.is_closed(now) => self.denied(now),
            Some(_) => {
                self.until_retry = self.until_retry.saturating_sub(1);
                Admission::Granted(Pass::Forced)
            }
            None => Admission::Granted(Pass::Open),
        }
    }

    fn denied(&self, now: Instant) -> Admission {
        let bench = self.bench.as_ref();
        Admission::Denied(Denied {
            wait: bench.map_or(Duration::ZERO, |b| b.until.saturating_duration_since(now)),
            probing: self.probe.is_some(),
            cause: bench.map(|b| b.cause.clone()),
            closed: bench.is_some_and(|b| b.is_closed(now)),
            rounds: self.rounds,
        })
    }

    /// Whether an admitted request may call again.
    pub(super) fn allows(&self, pass: Pass, now: Instant) -> bool {
        match (&self.bench, pass) {
            (None, _) => true,
            (Some(bench), Pass::Forced) => !bench.is_closed(now),
            (Some(_), Pass::Probe(number)) => self.probe == Some(number),
            (Some(_), Pass::Open) => false,
        }
    }

    /// Whether a failed attempt may be retried; spends the retry of a forced attempt. An
    /// unreachable server is not retried.
    pub(super) fn spend_retry(&mut self, pass: Pass, reached: bool) -> bool {
        if pass != Pass::Forced {
            return true;
        }
        let allowed = reached && self.until_retry == 0;
        if allowed {
            self.until_retry = FORCED_PER_RETRY;
        }
        allowed
    }

    /// Releases a probe without an outcome.
    pub(super) fn release(&mut self, probe: u64) {
        if self.probe == Some(probe) {
            self.probe = None;
        }
    }

    /// A probe's stream committed: others are admitted, but failures are remembered until
    /// it finishes.
    pub(super) fn reopen(&mut self, now: Instant) -> bool {
        self.probe = None;
        self.on_trial = true;
        self.lift(now)
    }

    /// Resets failures and backoff; returns whether that ended a bench.
    pub(super) fn succeed(&mut self, now: Instant) -> bool {
        self.failures = 0;
        self.rounds = 0;
        self.until_retry = 0;
        self.probe = None;
        self.on_trial = false;
        self.lift(now)
    }

    /// Ends a bench, except for a pause that the provider demanded or the operator set, about
    /// which the success of an earlier or a forced request says nothing.
    fn lift(&mut self, now: Instant) -> bool {
        if let Some(bench) = &mut self.bench
            && let Some(until) = bench.closed_until.max(bench.held_until)
            && now < until
        {
            bench.until = until;
            return false;
        }
        self.bench.take().is_some()
    }

    /// Resets everything, by hand; returns whether the target was benched.
    pub(super) fn reset(&mut self) -> bool {
        let benched = self.bench.is_some();
        *self = Self {
            probes: self.probes,
            ..Self::default()
        };
        benched
    }

    /// Records a failure; returns for how long the target is now benched, if that changed.
    pub(super) fn fail(
        &mut self,
        failure: HealthFailure,
        pass: &mut Pass,
        cause: BenchCause,
        now: Instant,
        config: &HealthConfig,
    ) -> Option<Duration> {
        let is_probe = self.end_probe(pass);
        // Neither late failures of requests that led to a bench nor those of requests admitted
        // during it may lengthen it.
        let spared = *pass == Pass::Forced || (self.bench.is_some() && !is_probe);
        match failure {
            HealthFailure::Throttled(wait) => self.close(wait, cause, now),
            HealthFailure::Counted(wait) if spared => {
                // A pause that the provider demanded applies, whichever request learned of it.
                self.bench.is_some().then(|| self.close(wait, cause, now))?
            }
            _ if spared => None,
            HealthFailure::Suspended(wait) => self.bench(wait, cause, now),
            HealthFailure::Counted(at_least) => {
                self.failures += 1;
                let trusted = !is_probe && !self.on_trial;
                if self.failures < config.threshold.max(1) && trusted {
                    return None;
                }
                let wait = config.cooldown(self.rounds);
                self.failures = 0;
                self.rounds = self.rounds.saturating_add(1);
                let benched = self.bench(wait, cause.clone(), now);
                self.close(at_least, cause, now).or(benched)
            }
            HealthFailure::Growing(base) => {
                let wait = backoff(base, DEFAULT_FACTOR, self.rounds, MAX_CREDENTIAL_BENCH);
                self.rounds = self.rounds.saturating_add(1);
                self.bench(wait, cause, now)
            }
        }
    }

    /// Ends a probe that has an outcome; returns whether it was the one in flight.
    fn end_probe(&mut self, pass: &mut Pass) -> bool {
        let Pass::Probe(number) = *pass else {
            return false;
        };
        *pass = Pass::Open;
        let current = self.probe == Some(number);
        if current {
            self.probe = None;
        }
        current
    }

    /// Benches without exception.
    fn close(&mut self, wait: Duration, cause: BenchCause, now: Instant) -> Option<Duration> {
        if wait.is_zero() {
            return None;
        }
        let news = self.bench(wait, cause, now);
        let until = now + wait.min(MAX_BENCH);
        if let Some(bench) = &mut self.bench {
            bench.closed_until = bench.closed_until.max(Some(until));
        }
        news
    }

    /// Benches, or lengthens a bench; never shortens one.
    pub(super) fn bench(
        &mut self,
        wait: Duration,
        cause: BenchCause,
        now: Instant,
    ) -> Option<Duration> {
        let until = now + wait.min(MAX_BENCH);
        self.on_trial = false;
        let held = matches!(cause, BenchCause::ByHand { .. }).then_some(until);
        if let Some(old) = self.bench.as_mut().filter(|bench| bench.until >= until) {
            old.held_until = old.held_until.max(held);
            return None;
        }
        let old = self.bench.as_ref();
        self.bench = Some(Bench {
            since: now,
            until,
            closed_until: old.and_then(|bench| bench.closed_until),
            held_until: old.and_then(|bench| bench.held_until).max(held),
            cause,
        });
        Some(wait)
    }

    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    pub(super) fn rounds(&self) -> u32 {
        self.rounds
    }

    pub(super) fn on_trial(&self) -> bool {
        self.on_trial
    }

    pub(super) fn probing(&self) -> bool {
        self.probe.is_some()
    }

    /// The bench, if any; it may have expired and await its probe.
    pub(super) fn benched(&self, now: Instant) -> Option<BenchView> {
        self.bench.as_ref().map(|bench| BenchView {
            since: now.saturating_duration_since(bench.since),
            left: bench.until.saturating_duration_since(now),
            closed: bench.is_closed(now),
            cause: bench.cause.clone(),
        })
    }
}

#[cfg(test)]
mod tests;
