//! How the targets are doing, and whether anybody can serve.

use http::StatusCode;
use majordomo::{BenchCause, Class, HealthStatus};
use serde::Serialize;

use crate::routes::PartitionSnapshot;
use crate::server::{ServerContext, ready};
use crate::state::GatewayState as Configured;

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
pub(super) fn report(context: &ServerContext) -> Report {
    let state = context.state.load();
    let (listed, other) = listed(&state);
    Report {
        ready: ready(context).0 == StatusCode::OK,
        draining: context.stopping.is_triggered(),
        config_stale: context.stale.load().as_deref().cloned(),
        config_notes: context.notes.load().to_vec(),
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use majordomo::{BenchCause, Class, ErrorKind, Health};

    use super::*;

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
