//! The state machine of one target. Pure: time is an argument.

use std::time::{Duration, Instant};

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
    reason: String,
}

/// Whether a target may be asked.
#[derive(Debug)]
pub(crate) enum Admission {
    /// It is healthy.
    Open,
    /// It was benched, and this request may try it; the number of the try.
    Probe(u64),
    /// Not now.
    Denied(Denied),
}

/// Why a target may not be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Denied {
    /// How long the bench still lasts; zero when only a probe is in the way.
    pub(crate) wait: Duration,
    pub(crate) probing: bool,
    pub(crate) reason: String,
}

/// What a failed attempt does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Failure {
    /// Counts towards the threshold; a bench lasts at least so long.
    Counted(Duration),
    /// Benches for so long without counting.
    Throttled(Duration),
    /// Benches at once, longer every time: a credential.
    Growing(Duration),
}

impl State {
    pub(super) fn admit(&mut self, now: Instant, config: &HealthConfig) -> Admission {
        let Some(bench) = &self.bench else {
            return Admission::Open;
        };
        if now < bench.until {
            return self.denied(now);
        }
        if !config.single_probe {
            self.bench = None;
            return Admission::Open;
        }
        self.take_probe(now)
    }

    /// Lets one request through a bench: the last resort of a chain.
    pub(super) fn force(&mut self, now: Instant) -> Admission {
        match self.bench {
            Some(_) => self.take_probe(now),
            None => Admission::Open,
        }
    }

    fn take_probe(&mut self, now: Instant) -> Admission {
        if self.probe.is_some() {
            return self.denied(now);
        }
        self.probes += 1;
        self.probe = Some(self.probes);
        Admission::Probe(self.probes)
    }

    fn denied(&self, now: Instant) -> Admission {
        let bench = self.bench.as_ref();
        Admission::Denied(Denied {
            wait: bench.map_or(Duration::ZERO, |b| b.until.saturating_duration_since(now)),
            probing: self.probe.is_some(),
            reason: bench.map(|b| b.reason.clone()).unwrap_or_default(),
        })
    }

    /// Whether a request that was let in may ask again.
    pub(super) fn allows(&self, probe: Option<u64>) -> bool {
        self.bench.is_none() || (probe.is_some() && self.probe == probe)
    }

    /// Gives a probe's place back without a verdict.
    pub(super) fn release(&mut self, probe: u64) {
        if self.probe == Some(probe) {
            self.probe = None;
        }
    }

    /// A probe's stream began to answer: others may come again, but nothing is
    /// forgiven until its end is seen.
    pub(super) fn reopen(&mut self) -> bool {
        self.probe = None;
        self.on_trial = true;
        self.bench.take().is_some()
    }

    /// Success resets everything; says whether the target was benched.
    pub(super) fn succeed(&mut self) -> bool {
        let benched = self.bench.is_some();
        *self = Self {
            probes: self.probes,
            ..Self::default()
        };
        benched
    }

    /// Takes a failure; says for how long the target is benched now, if it is.
    pub(super) fn fail(
        &mut self,
        failure: Failure,
        probe: Option<u64>,
        reason: &str,
        now: Instant,
        config: &HealthConfig,
    ) -> Option<Duration> {
        let is_probe = probe.is_some() && self.probe == probe;
        if is_probe {
            self.probe = None;
        }
        // Stragglers of the requests that led to a bench must not lengthen it.
        let benched = self.bench.is_some() && !is_probe;
        let wait = match failure {
            Failure::Throttled(wait) if wait.is_zero() => return None,
            Failure::Throttled(wait) => wait,
            _ if benched => return None,
            Failure::Counted(at_least) => {
                self.failures += 1;
                let trusted = !is_probe && !self.on_trial;
                if self.failures < config.threshold.max(1) && trusted {
                    return None;
                }
                let wait = config.cooldown(self.rounds);
                self.failures = 0;
                self.rounds = self.rounds.saturating_add(1);
                wait.max(at_least)
            }
            Failure::Growing(base) => {
                let wait = grown(base, DEFAULT_FACTOR, self.rounds, LONGEST_CREDENTIAL_BENCH);
                self.rounds = self.rounds.saturating_add(1);
                wait
            }
        };
        self.bench(wait, reason, now);
        Some(wait)
    }

    /// Benches, or lengthens a bench; never shortens one.
    pub(super) fn bench(&mut self, wait: Duration, reason: &str, now: Instant) {
        let until = now + wait.min(FOREVER);
        self.on_trial = false;
        match &mut self.bench {
            Some(bench) if bench.until >= until => {}
            bench => {
                *bench = Some(Bench {
                    since: now,
                    until,
                    reason: reason.to_owned(),
                });
            }
        }
    }

    pub(super) fn is_clean(&self) -> bool {
        self.failures == 0 && self.rounds == 0 && self.bench.is_none() && self.probe.is_none()
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

    /// How long the bench has lasted, how long it still lasts, and why.
    pub(super) fn benched(&self, now: Instant) -> Option<(Duration, Duration, &str)> {
        self.bench.as_ref().map(|bench| {
            let since = now.saturating_duration_since(bench.since);
            let left = bench.until.saturating_duration_since(now);
            (since, left, &bench.reason[..])
        })
    }
}

#[cfg(test)]
mod tests;
