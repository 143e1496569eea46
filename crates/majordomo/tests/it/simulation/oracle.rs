//! A second, simpler implementation of health: what the attempts in the log must have done to
//! it with a single caller.

use std::collections::HashMap;
use std::time::Duration;

use majordomo::Class;
use majordomo::health::HealthStatus;
use majordomo::llm::{Attempt, AttemptOutcome};
use tokio::time::Instant;

#[derive(Clone, Debug, Default)]
struct Believed {
    failures: u32,
    rounds: u32,
    until: Option<Instant>,
    on_trial: bool,
}

/// Whether a target was called although it had been skipped as benched.
pub(crate) fn is_forced(before: &[Attempt], target: &str) -> bool {
    let barred = |attempt: &Attempt| {
        let skipped = matches!(attempt.outcome, AttemptOutcome::Skipped { class: None, .. });
        skipped && attempt.target == target
    };
    before.iter().any(barred)
}

#[derive(Default)]
pub(crate) struct Oracle {
    targets: HashMap<String, Believed>,
}

impl Oracle {
    /// Applies the attempts of one request, which started at `began`. A served stream has only
    /// started: its end is reported separately.
    pub(crate) fn learn(&mut self, attempts: &[Attempt], began: Instant, streamed: bool) {
        for (place, attempt) in attempts.iter().enumerate() {
            let ended = began + attempt.at + attempt.took;
            let forced = is_forced(&attempts[..place], &attempt.target);
            match &attempt.outcome {
                AttemptOutcome::Skipped { .. } => {}
                AttemptOutcome::Served if streamed && forced => {}
                AttemptOutcome::Served if streamed => self.reopen(&attempt.target),
                AttemptOutcome::Served => self.succeed(&attempt.target),
                AttemptOutcome::Failed { class, reason, .. } => {
                    self.fail(&attempt.target, *class, reason, ended, forced);
                }
            }
        }
    }

    pub(crate) fn succeed(&mut self, target: &str) {
        self.targets.insert(target.to_owned(), Believed::default());
    }

    fn reopen(&mut self, target: &str) {
        let health = self.targets.entry(target.to_owned()).or_default();
        health.on_trial |= health.until.take().is_some();
    }

    /// Adopts the tracked health, after a request without an attempt log.
    pub(crate) fn adopt(&mut self, statuses: &[HealthStatus], now: Instant) {
        for status in statuses {
            let until = status
                .benched_for
                .map(|_| now + status.until_usable.unwrap_or_default());
            let believed = Believed {
                failures: status.failures,
                rounds: status.rounds,
                until,
                on_trial: status.on_trial,
            };
            self.targets.insert(status.subject.clone(), believed);
        }
    }

    /// A forced attempt affects health only by its `Retry-After`.
    pub(crate) fn fail(
        &mut self,
        target: &str,
        class: Class,
        reason: &str,
        at: Instant,
        forced: bool,
    ) {
        let health = self.targets.entry(target.to_owned()).or_default();
        let wait = match class {
            class if forced && class != Class::RateLimited => return,
            Class::Transient | Class::BadResponse | Class::Empty => {
                health.failures += 1;
                let trusted = health.until.is_none() && !health.on_trial;
                if health.failures < 2 && trusted {
                    return;
                }
                let wait = 5 * 2_u64.pow(health.rounds.min(20));
                health.failures = 0;
                health.rounds += 1;
                Duration::from_secs(wait.min(300))
            }
            Class::Tls => Duration::from_secs(300),
            Class::RateLimited => {
                let seconds = reason.rsplit(' ').next().and_then(|s| s.parse().ok());
                match seconds {
                    Some(0) | None => return,
                    Some(seconds) => Duration::from_secs(seconds),
                }
            }
            _ => return,
        };
        let until = at + wait;
        health.on_trial = false;
        health.until = Some(health.until.map_or(until, |old| old.max(until)));
    }

    /// Where the tracked health and this one differ.
    pub(crate) fn compare(&self, statuses: &[HealthStatus], now: Instant) -> Vec<String> {
        let targets = statuses.iter().filter(|s| s.subject.contains('/'));
        targets
            .filter_map(|status| {
                let believed = self.targets.get(&status.subject).cloned();
                let believed = believed.unwrap_or_default();
                let left = believed
                    .until
                    .map(|until| until.saturating_duration_since(now))
                    .filter(|left| !left.is_zero());
                let same = (status.failures, status.rounds) == (believed.failures, believed.rounds)
                    && status.until_usable == left
                    && status.benched_for.is_some() == believed.until.is_some();
                (!same).then(|| format!("{status:?} but the attempts make it {believed:?}"))
            })
            .collect()
    }
}
