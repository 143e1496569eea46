//! The state machine of one target. Pure: time is an argument.

use std::time::{Duration, Instant};

use super::BenchCause;

/// The rules of health.
///
/// ```
/// use majordomo::HealthConfig;
///
/// let rules = HealthConfig { threshold: 3, ..HealthConfig::default() };
/// assert_eq!(rules.base.as_secs(), 5);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct HealthConfig {
    /// Consecutive failures that bench a target.
    pub threshold: u32,
    /// How long the first bench lasts.
    pub base: Duration,
    /// How long a bench lasts at most.
    pub max: Duration,
    /// How much longer each further bench lasts; 1 or less is taken as 2.
    pub factor: f64,
    /// Whether only one request at a time tries a target after its bench, and a
    /// failed try benches it again. Off, everybody comes back at once and the
    /// threshold counts from zero.
    pub single_probe: bool,
}

impl Default for HealthConfig {
    fn default() -> Self {
        Self {
            threshold: 2,
            base: Duration::from_secs(5),
            max: Duration::from_secs(300),
            factor: 2.0,
            single_probe: true,
        }
    }
}

const DEFAULT_FACTOR: f64 = 2.0;
/// As long as the clock can surely count; whoever benches by hand may ask for more.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);
/// A credential's bench grows up to this.
const LONGEST_CREDENTIAL_BENCH: Duration = Duration::from_secs(3_600);

impl HealthConfig {
    fn cooldown(&self, round: u32) -> Duration {
        let factor = if self.factor > 1.0 {
            self.factor
        } else {
            DEFAULT_FACTOR
        };
        grown(self.base, factor, round, self.max)
    }
}

fn grown(base: Duration, factor: f64, round: u32, max: Duration) -> Duration {
    let seconds = base.as_secs_f64() * factor.powi(i32::try_from(round).unwrap_or(i32::MAX));
    Duration::try_from_secs_f64(seconds).map_or(max, |wait| wait.min(max))
}

#[derive(Debug, Default)]
pub(super) struct State {
    failures: u32,
    rounds: u32,
    bench: Option<Bench>,
    /// The number of the probe under way; a stale permit's number differs.
    probe: Option<u64>,
    probes: u64,
    /// A probe's stream began but has not ended well yet: others are let in, and
    /// the next failure benches again at once.
    on_trial: bool,
}

#[derive(Clone, Debug)]
struct Bench {
    since: Instant,
    until: Instant,
    /// Nobody asks before then: the provider named the time.
    closed_until: Option<Instant>,
    cause: BenchCause,
}

impl Bench {
    fn is_closed(&self, now: Instant) -> bool {
        self.closed_until.is_some_and(|until| now < until)
    }
}

/// A bench as it is shown.
pub(super) struct Shown {
    /// How long it has lasted.
    pub(super) since: Duration,
    /// How long it still lasts.
    pub(super) left: Duration,
    /// Whether nobody may ask meanwhile.
    pub(super) closed: bool,
    pub(super) cause: BenchCause,
}

/// How a request was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// The target was healthy.
    Open,
    /// Its bench was over, and this request tries it; the number of the try.
    Probe(u64),
    /// It is benched, and nobody else could serve. Only success says something about
    /// its health: how often such requests fail depends on how many there are.
    Forced,
}

/// Whether a target may be asked.
#[derive(Debug)]
pub(super) enum Admission {
    Granted(Pass),
    /// Not now.
    Denied(Denied),
}

/// Why a target may not be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Denied {
    /// How long the bench still lasts; zero when only a probe is in the way.
    pub(crate) wait: Duration,
    pub(crate) probing: bool,
    pub(crate) cause: Option<BenchCause>,
}

/// What a failed attempt does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Failure {
    /// Counts towards the threshold; a bench lasts at least so long.
    Counted(Duration),
    /// Benches for so long without counting, at the provider's own word.
    Throttled(Duration),
    /// Benches for so long without counting.
    Suspended(Duration),
    /// Benches at once, longer every time: a credential.
    Growing(Duration),
}

impl State {
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

    /// Lets a request through a bench, and past a probe: the last resort of a chain.
    pub(super) fn force(&self, now: Instant) -> Admission {
        match &self.bench {
            Some(bench) if bench.is_closed(now) => self.denied(now),
            Some(_) => Admission::Granted(Pass::Forced),
            None => Admission::Granted(Pass::Open),
        }
    }

    fn denied(&self, now: Instant) -> Admission {
        let bench = self.bench.as_ref();
        Admission::Denied(Denied {
            wait: bench.map_or(Duration::ZERO, |b| b.until.saturating_duration_since(now)),
            probing: self.probe.is_some(),
            cause: bench.map(|b| b.cause.clone()),
        })
    }

    /// Whether a request that was let in may ask again.
    pub(super) fn allows(&self, pass: Pass, now: Instant) -> bool {
        match (&self.bench, pass) {
            (None, _) => true,
            (Some(bench), Pass::Forced) => !bench.is_closed(now),
            (Some(_), Pass::Probe(number)) => self.probe == Some(number),
            (Some(_), Pass::Open) => false,
        }
    }

    /// Gives a probe's place back without a verdict.
    pub(super) fn release(&mut self, probe: u64) {
        if self.probe == Some(probe) {
            self.probe = None;
        }
    }

    /// A probe's stream began to answer: others may come again, but nothing is
    /// forgiven until its end is seen.
    pub(super) fn reopen(&mut self, now: Instant) -> bool {
        self.probe = None;
        self.on_trial = true;
        self.lift(now)
    }

    /// Success forgives everything; says whether that ended a bench.
    pub(super) fn succeed(&mut self, now: Instant) -> bool {
        self.failures = 0;
        self.rounds = 0;
        self.probe = None;
        self.on_trial = false;
        self.lift(now)
    }

    /// Ends a bench, but for the time that the provider asked for: a request that
    /// began before says nothing about that.
    fn lift(&mut self, now: Instant) -> bool {
        if let Some(bench) = &mut self.bench
            && let Some(until) = bench.closed_until.filter(|until| now < *until)
        {
            bench.until = until;
            return false;
        }
        self.bench.take().is_some()
    }

    /// Forgets everything, by hand; says whether the target was benched.
    pub(super) fn reset(&mut self) -> bool {
        let benched = self.bench.is_some();
        *self = Self {
            probes: self.probes,
            ..Self::default()
        };
        benched
    }

    /// Takes a failure; says for how long the target is benched now, if that is news.
    pub(super) fn fail(
        &mut self,
        failure: Failure,
        pass: &mut Pass,
        cause: BenchCause,
        now: Instant,
        config: &HealthConfig,
    ) -> Option<Duration> {
        let is_probe = self.end_probe(pass);
        // Stragglers of the requests that led to a bench must not lengthen it, and
        // neither must those that were let in during it.
        let spared = *pass == Pass::Forced || (self.bench.is_some() && !is_probe);
        match failure {
            Failure::Throttled(wait) => self.close(wait, cause, now),
            Failure::Counted(wait) if spared => {
                // The provider's own time is obeyed, whoever was told.
                self.bench.is_some().then(|| self.close(wait, cause, now))?
            }
            _ if spared => None,
            Failure::Suspended(wait) => self.bench(wait, cause, now),
            Failure::Counted(at_least) => {
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
            Failure::Growing(base) => {
                let wait = grown(base, DEFAULT_FACTOR, self.rounds, LONGEST_CREDENTIAL_BENCH);
                self.rounds = self.rounds.saturating_add(1);
                self.bench(wait, cause, now)
            }
        }
    }

    /// A probe has its answer; says whether it was the one under way.
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

    /// Benches, and lets nobody through.
    fn close(&mut self, wait: Duration, cause: BenchCause, now: Instant) -> Option<Duration> {
        if wait.is_zero() {
            return None;
        }
        let news = self.bench(wait, cause, now);
        let until = now + wait.min(FOREVER);
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
        let until = now + wait.min(FOREVER);
        self.on_trial = false;
        let old = self.bench.as_ref();
        if old.is_some_and(|bench| bench.until >= until) {
            return None;
        }
        self.bench = Some(Bench {
            since: now,
            until,
            closed_until: old.and_then(|bench| bench.closed_until),
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

    /// The bench, if there is one; it may be over and wait for its probe.
    pub(super) fn benched(&self, now: Instant) -> Option<Shown> {
        self.bench.as_ref().map(|bench| Shown {
            since: now.saturating_duration_since(bench.since),
            left: bench.until.saturating_duration_since(now),
            closed: bench.is_closed(now),
            cause: bench.cause.clone(),
        })
    }
}

#[cfg(test)]
mod tests;
