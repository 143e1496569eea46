//! How the targets are doing, and whether anybody can serve.

use http::StatusCode;
use majordomo::{BenchCause, Class, ErrorKind, Health, HealthStatus, Timer};
use serde::Serialize;

use crate::routes::PartitionSnapshot;
use crate::server::House;
use crate::state::State as Configured;

/// So many targets that only clients named are listed; the rest is counted.
const MOST_OTHERS: usize = 256;

/// What `/api/health` says.
#[derive(Serialize)]
pub(super) struct Report {
    ready: bool,
    draining: bool,
    /// Why the configuration file as it is now is not at work.
    #[serde(skip_serializing_if = "Option::is_none")]
    config_stale: Option<String>,
    /// What the file says and only a restart can do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    config_notes: Vec<String>,
    targets: Vec<Target>,
    /// Those that are not listed, if there are any.
    #[serde(skip_serializing_if = "Other::is_nobody")]
    other: Other,
    /// The services of every route and rule, with what is known of them.
    services: Vec<PartitionSnapshot>,
}

/// Targets that clients named, beyond those that are listed.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Other {
    targets: usize,
    pub(super) benched: usize,
}

impl Other {
    fn is_nobody(&self) -> bool {
        self.targets == 0
    }
}

/// One target, or one provider's credential.
#[derive(Serialize)]
struct Target {
    target: String,
    state: State,
    /// Why it is left alone: in words, and as class and status.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<Class>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
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
            why: status.cause.as_ref().map(ToString::to_string),
            class: status.cause.as_ref().and_then(BenchCause::class),
            status: status.cause.as_ref().and_then(BenchCause::status),
            since_seconds: status.benched_for.map(|time| time.as_secs_f64()),
            until_seconds: status.until_usable.map(|time| time.as_secs_f64()),
            failures: status.failures,
            rounds: status.rounds,
        }
    }
}

/// The targets that are configured, and those that clients named.
pub(super) fn report(house: &House) -> Report {
    let state = house.state.load();
    let (listed, other) = listed(&state);
    Report {
        ready: ready(house).0 == StatusCode::OK,
        draining: house.stopping.has_rung(),
        config_stale: house.stale.load().as_deref().cloned(),
        config_notes: house.notes.load().to_vec(),
        targets: listed.into_iter().map(Target::from).collect(),
        other,
        services: state.services(),
    }
}

/// What is known of health, by name: all that is configured, and of what clients
/// named so many, the benched ones first.
pub(super) fn listed(state: &Configured) -> (Vec<HealthStatus>, Other) {
    bounded(state.registry.health().snapshot())
}

fn bounded(health: Vec<HealthStatus>) -> (Vec<HealthStatus>, Other) {
    let (mut listed, mut others): (Vec<_>, Vec<_>) =
        health.into_iter().partition(|status| status.declared);
    let is_benched = |status: &HealthStatus| status.until_usable.is_some();
    others.sort_by_key(|status| !is_benched(status));
    let rest = others.split_off(others.len().min(MOST_OTHERS));
    let other = Other {
        targets: rest.len(),
        benched: rest.iter().filter(|status| is_benched(status)).count(),
    };
    listed.append(&mut others);
    listed.sort_by(|a, b| a.subject.cmp(&b.subject));
    (listed, other)
}

/// Whether requests can be served, and why not.
pub(crate) fn ready(house: &House) -> (StatusCode, &'static str) {
    if house.stopping.has_rung() {
        return (StatusCode::SERVICE_UNAVAILABLE, "draining\n");
    }
    let state = house.state.load();
    let known = Known {
        targets: &state.targets,
        providers: &state.registry.providers(),
        has_last_resort: state.has_last_resort(),
    };
    if known.can_serve(state.registry.health()) {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "no target can serve\n")
    }
}

/// What the configuration names. Names that clients make up do not count.
struct Known<'a> {
    targets: &'a [String],
    providers: &'a [String],
    has_last_resort: bool,
}

impl Known<'_> {
    /// Whether one of the targets may be used. Where none is configured by name, a
    /// provider counts as long as its credential is good.
    fn can_serve(&self, health: &Health) -> bool {
        let refused = |provider: &str| {
            let credential = health.status(provider);
            credential.is_some_and(|status| status.until_usable.is_some())
        };
        if self.targets.is_empty() {
            return self.providers.iter().any(|name| !refused(name));
        }
        self.targets.iter().any(|name| {
            let provider = name.split('/').next().unwrap_or_default();
            let out = health
                .status(name)
                .is_some_and(|status| self.is_out(&status));
            !out && !refused(provider)
        })
    }

    /// Whether requests to a target are known to be useless. One that failed may have
    /// failed for the sake of one request, and others are still served as a last
    /// resort: only its probe's failure, or that it cannot be reached, tells.
    fn is_out(&self, status: &HealthStatus) -> bool {
        let benched = status.until_usable.is_some();
        let known = match &status.cause {
            _ if status.closed || !self.has_last_resort => true,
            Some(BenchCause::Failed { kind, .. }) => is_unreachable(*kind) || status.rounds > 1,
            Some(BenchCause::ByHand { .. }) | None => true,
        };
        benched && known
    }
}

fn is_unreachable(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Connect | ErrorKind::Dns | ErrorKind::Tls | ErrorKind::Timeout(Timer::Connect)
    )
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
            let known = Known {
                targets: &owned(targets),
                providers: &owned(&["a", "b"]),
                has_last_resort: true,
            };
            let able = known.can_serve(&health);
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

    /// A target as it is after failures like this one.
    fn benched(kind: ErrorKind, rounds: u32, closed: bool) -> HealthStatus {
        HealthStatus {
            subject: "a/x".to_owned(),
            failures: 0,
            rounds,
            until_usable: Some(Duration::from_secs(5)),
            benched_for: Some(Duration::ZERO),
            cause: Some(BenchCause::Failed {
                kind,
                class: Class::Transient,
                status: None,
            }),
            closed,
            probing: false,
            on_trial: false,
            declared: true,
        }
    }

    #[test]
    fn one_bad_request_does_not_make_the_gateway_unready() {
        let rows = [
            (benched(ErrorKind::Provider, 1, false), true, false),
            (benched(ErrorKind::Truncated, 1, false), true, false),
            (benched(ErrorKind::Provider, 1, false), false, true),
            (benched(ErrorKind::Provider, 2, false), true, true),
            (benched(ErrorKind::Provider, 0, true), true, true),
            (benched(ErrorKind::Connect, 1, false), true, true),
            (benched(ErrorKind::Dns, 1, false), true, true),
        ];
        for (status, has_last_resort, out) in rows {
            let known = Known {
                targets: &[],
                providers: &[],
                has_last_resort,
            };
            assert_eq!(known.is_out(&status), out, "{status:?} {has_last_resort}");
        }
    }

    #[test]
    fn what_clients_made_up_is_listed_up_to_a_bound_and_then_counted() {
        let named = |n: usize| HealthStatus {
            subject: format!("a/{n:04}"),
            declared: n.is_multiple_of(10),
            until_usable: (!n.is_multiple_of(3)).then_some(Duration::from_secs(5)),
            ..benched(ErrorKind::Connect, 1, false)
        };
        let (listed, other) = bounded((0..1_000).map(named).collect());
        let declared = listed.iter().filter(|status| status.declared).count();
        assert_eq!((declared, listed.len()), (100, 100 + MOST_OTHERS));
        assert_eq!(other.targets, 900 - MOST_OTHERS);
        assert_eq!(other.benched, 600 - MOST_OTHERS);
        assert!(listed.is_sorted_by_key(|status| &status.subject));
    }
}
