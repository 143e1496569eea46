//! Bench hints: when one gateway benches a target, the others probe it.

use std::time::Duration;

use majordomo::Class;
use majordomo::health::{BenchCause, Health};
use majordomo::observe::{Notice, Observer};
use majordomo_cluster::News;

use super::Cluster;

/// Announces benches that this node decided to other nodes.
pub(crate) struct BenchTeller(pub(crate) Cluster);

impl Observer for BenchTeller {
    fn notice(&self, notice: &Notice<'_>) {
        let Notice::Benched {
            subject,
            wait,
            cause: BenchCause::Failed { class, .. },
        } = notice
        else {
            // Hints from other nodes are applied as manual benches, and are not passed on.
            return;
        };
        self.0.node.tell(News::Benched {
            subject: (*subject).to_owned(),
            millis: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            demanded: *class == Class::RateLimited,
        });
    }
}

/// Applies a hint. A pause that the provider demanded applies here, too. After any other
/// failure the next request is a probe, whose outcome decides.
pub(crate) fn apply_hint(health: &Health, subject: &str, millis: u64, demanded: bool) {
    let known = health.status(subject);
    // Names that only clients of another node used are ignored.
    let Some(status) = known.filter(|status| status.declared) else {
        return;
    };
    if status.until_usable.is_some() || status.probing {
        return;
    }
    let wait = match demanded {
        true => Duration::from_millis(millis),
        false => Duration::ZERO,
    };
    health.bench(subject, wait, "another gateway benched it");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn health() -> Health {
        let health = Health::default();
        health.declare(["a/x"]);
        health
    }

    #[test]
    fn a_demanded_pause_holds_here_as_well() {
        let health = health();
        apply_hint(&health, "a/x", 30_000, true);
        let left = health.status("a/x").unwrap().until_usable;
        assert!(left.is_some_and(|left| left > Duration::from_secs(25)));
    }

    #[test]
    fn after_another_failure_the_next_request_probes() {
        let health = health();
        apply_hint(&health, "a/x", 30_000, false);
        let status = health.status("a/x").unwrap();
        assert_eq!(status.until_usable.unwrap_or_default(), Duration::ZERO);
        assert!(status.benched_for.is_some(), "it awaits its probe");
    }

    #[test]
    fn a_target_that_is_not_configured_here_is_ignored() {
        let health = health();
        apply_hint(&health, "b/y", 30_000, true);
        assert!(health.status("b/y").is_none());
    }
}
