//! How the targets are doing, and whether anybody can serve.

use http::StatusCode;
use majordomo::HealthStatus;
use serde::Serialize;

use crate::routes::PartitionSnapshot;
use crate::server::House;

/// What `/api/health` says.
#[derive(Serialize)]
pub(super) struct Report {
    ready: bool,
    draining: bool,
    /// Why the configuration file as it is now is not at work.
    #[serde(skip_serializing_if = "Option::is_none")]
    config_stale: Option<String>,
    targets: Vec<Target>,
    /// The services of every route and rule, with what is known of them.
    services: Vec<PartitionSnapshot>,
}

/// One target, or one provider's credential.
#[derive(Serialize)]
struct Target {
    target: String,
    state: State,
    /// Why it is left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// Since when, in seconds before now.
    #[serde(skip_serializing_if = "Option::is_none")]
    since_seconds: Option<f64>,
    /// For how many seconds from now.
    #[serde(skip_serializing_if = "Option::is_none")]
    until_seconds: Option<f64>,
    failures: u32,
    rounds: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// In use.
    Usable,
    /// In use again; the next failure benches it at once.
    OnTrial,
    /// One request is finding out whether it is back.
    Probing,
    /// Left alone.
    Benched,
}

impl From<HealthStatus> for Target {
    fn from(status: HealthStatus) -> Self {
        let state = if status.probing {
            State::Probing
        } else if status.until_usable.is_some() {
            State::Benched
        } else if status.on_trial {
            State::OnTrial
        } else {
            State::Usable
        };
        Self {
            target: status.subject,
            state,
            why: status.reason,
            since_seconds: status.benched_for.map(|time| time.as_secs_f64()),
            until_seconds: status.until_usable.map(|time| time.as_secs_f64()),
            failures: status.failures,
            rounds: status.rounds,
        }
    }
}

/// All targets that were ever asked, and those that are configured.
pub(super) fn report(house: &House) -> Report {
    let state = house.state.load();
    let health = state.registry.health().snapshot();
    Report {
        ready: ready(house).0 == StatusCode::OK,
        draining: house.stopping.has_rung(),
        config_stale: house.stale.load().as_deref().cloned(),
        targets: health.into_iter().map(Target::from).collect(),
        services: state.services(),
    }
}

/// Whether requests can be served, and why not.
pub(crate) fn ready(house: &House) -> (StatusCode, &'static str) {
    if house.stopping.has_rung() {
        return (StatusCode::SERVICE_UNAVAILABLE, "draining\n");
    }
    let state = house.state.load();
    let health = state.registry.health().snapshot();
    if able(&state.targets(), &state.registry.providers(), &health) {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "no target can serve\n")
    }
}

/// Whether one of the configured targets may be used. Where none is configured
/// by name, a provider counts as long as its credential is good.
fn able(targets: &[String], providers: &[String], health: &[HealthStatus]) -> bool {
    let benched = |name: &str| {
        let mut about = health.iter().filter(|status| status.subject == name);
        about.any(|status| status.until_usable.is_some())
    };
    let provider = |target: &str| target.split('/').next().is_some_and(benched);
    if targets.is_empty() {
        return providers.iter().any(|name| !benched(name));
    }
    targets.iter().any(|name| !benched(name) && !provider(name))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use majordomo::Health;

    use super::*;

    #[test]
    fn one_usable_target_is_enough() {
        let rows: [(&[&str], &[&str], bool); 7] = [
            (&["a/x", "b/y"], &[], true),
            (&["a/x", "b/y"], &["a/x"], true),
            (&["a/x", "b/y"], &["a/x", "b/y"], false),
            (&["a/x", "b/y"], &["a", "b/y"], false),
            (&[], &["a/x"], true),
            (&[], &["a"], true),
            (&[], &["a", "b"], false),
        ];
        let owned = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect::<Vec<_>>();
        for (targets, benched, expected) in rows {
            let health = Health::default();
            for name in benched {
                health.bench(name, Duration::from_secs(60), "why");
            }
            let able = able(&owned(targets), &owned(&["a", "b"]), &health.snapshot());
            assert_eq!(able, expected, "{targets:?} without {benched:?}");
        }
    }

    #[test]
    fn a_benched_target_says_why_since_when_and_until_when() {
        let health = Health::default();
        health.bench("a/x", Duration::from_secs(60), "maintenance");
        let target = Target::from(health.snapshot().remove(0));
        assert_eq!(target.state, State::Benched);
        assert_eq!(target.why.as_deref(), Some("maintenance"));
        assert!(target.since_seconds.is_some());
        assert!(target.until_seconds.is_some_and(|s| s > 50.0));
        health.unbench("a/x");
        let target = Target::from(health.snapshot().remove(0));
        assert_eq!(target.state, State::Usable);
        assert_eq!(target.until_seconds, None);
    }
}
