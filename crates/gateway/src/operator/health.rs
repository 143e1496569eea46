//! `/api/health`: the health of targets, and readiness.

use http::StatusCode;
use majordomo::Class;
use majordomo::health::{BenchCause, HealthStatus, QuotaStatus};
use majordomo::llm::QuotaWindow;
use serde::Serialize;

use crate::cluster::ClusterReport;
use crate::routes::PartitionSnapshot;
use crate::server::{ServerContext, ready};
use crate::state::GatewayState;

/// Maximum number of listed targets that only clients named; further ones are counted.
const MOST_OTHERS: usize = 256;

/// The response of `/api/health`.
#[derive(Serialize)]
pub(super) struct HealthReport {
    ready: bool,
    draining: bool,
    /// Why the newest configuration file is not active.
    #[serde(skip_serializing_if = "Option::is_none")]
    config_stale: Option<String>,
    /// Settings that take effect only after a restart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    config_notes: Vec<String>,
    targets: Vec<TargetHealth>,
    /// Targets beyond the listed ones, if any.
    #[serde(skip_serializing_if = "UnlistedTargets::is_empty")]
    other: UnlistedTargets,
    /// The other gateways and the stores that they share.
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<ClusterReport>,
    /// The services of every route and rule, with their statistics.
    services: Vec<PartitionSnapshot>,
}

/// Targets named by clients, beyond the listed ones.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct UnlistedTargets {
    targets: usize,
    pub(super) benched: usize,
}

impl UnlistedTargets {
    pub(super) fn targets(&self) -> usize {
        self.targets
    }

    fn is_empty(&self) -> bool {
        self.targets == 0
    }
}

/// A target or a provider's credential.
#[derive(Serialize)]
struct TargetHealth {
    target: String,
    state: TargetState,
    /// Why it is benched: text, class and status.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<Class>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// Seconds since it was benched.
    #[serde(skip_serializing_if = "Option::is_none")]
    since_seconds: Option<f64>,
    /// Seconds until it is usable.
    #[serde(skip_serializing_if = "Option::is_none")]
    until_seconds: Option<f64>,
    failures: u32,
    rounds: u32,
    /// The remaining rate limits of one of several keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    quota: Option<QuotaReport>,
}

/// A key's rate limits, as the provider last reported them.
#[derive(Serialize)]
struct QuotaReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<WindowReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<WindowReport>,
}

#[derive(Serialize)]
struct WindowReport {
    limit: u64,
    left: u64,
    /// Seconds until it is full again, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    resets_seconds: Option<f64>,
}

impl From<QuotaStatus> for QuotaReport {
    fn from(quota: QuotaStatus) -> Self {
        let report = |window: QuotaWindow| WindowReport {
            limit: window.limit,
            left: window.left,
            resets_seconds: window.resets_in.map(|wait| wait.as_secs_f64()),
        };
        Self {
            requests: quota.requests.map(report),
            tokens: quota.tokens.map(report),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum TargetState {
    /// Closed circuit.
    Usable,
    /// Usable again; the next failure benches it.
    OnTrial,
    /// Half-open: one request probes it.
    Probing,
    /// Open circuit.
    Benched,
}

impl From<HealthStatus> for TargetHealth {
    fn from(status: HealthStatus) -> Self {
        let state = if status.probing {
            TargetState::Probing
        } else if status.until_usable.is_some() {
            TargetState::Benched
        } else if status.on_trial {
            TargetState::OnTrial
        } else {
            TargetState::Usable
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
            quota: status.quota.map(QuotaReport::from),
        }
    }
}

/// The health of configured targets and of those that clients named.
pub(super) fn report(context: &ServerContext) -> HealthReport {
    let state = context.state.load();
    let (listed, other) = listed(&state);
    HealthReport {
        ready: ready(context).0 == StatusCode::OK,
        draining: context.leaving.is_triggered(),
        config_stale: context.stale.load().as_deref().cloned(),
        config_notes: context.notes.load().to_vec(),
        targets: listed.into_iter().map(TargetHealth::from).collect(),
        other,
        cluster: context.cluster().map(|cluster| cluster.report()),
        services: state.services(),
    }
}

/// Health by name: all configured subjects, and a bounded number of those that clients
/// named, benched ones first.
pub(super) fn listed(state: &GatewayState) -> (Vec<HealthStatus>, UnlistedTargets) {
    bounded(state.registry.health().snapshot())
}

fn bounded(health: Vec<HealthStatus>) -> (Vec<HealthStatus>, UnlistedTargets) {
    let (mut listed, mut others): (Vec<_>, Vec<_>) =
        health.into_iter().partition(|status| status.declared);
    let is_benched = |status: &HealthStatus| status.until_usable.is_some();
    others.sort_by_key(|status| !is_benched(status));
    let rest = others.split_off(others.len().min(MOST_OTHERS));
    let other = UnlistedTargets {
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

    use majordomo::health::{BenchCause, Health};
    use majordomo::{Class, ErrorKind};

    use super::*;

    #[test]
    fn a_benched_target_reports_reason_start_and_end() {
        let health = Health::default();
        health.bench("a/x", Duration::from_secs(60), "maintenance");
        let target = TargetHealth::from(health.snapshot().remove(0));
        assert_eq!(target.state, TargetState::Benched);
        assert_eq!(target.why.as_deref(), Some("maintenance"));
        assert!(target.since_seconds.is_some());
        assert!(target.until_seconds.is_some_and(|s| s > 50.0));
        health.unbench("a/x");
        let target = TargetHealth::from(health.snapshot().remove(0));
        assert_eq!(target.state, TargetState::Usable);
        assert_eq!(target.until_seconds, None);
    }

    /// A target benched by a failure of this kind.
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
            quota: None,
        }
    }

    #[test]
    fn targets_named_by_clients_are_listed_up_to_a_bound_and_then_counted() {
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
