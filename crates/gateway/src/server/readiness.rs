//! Readiness: whether any configured target can serve.

use http::StatusCode;
use majordomo::health::{BenchCause, Health, HealthStatus, key_subject};

use super::context::ServerContext;

/// Readiness as status and text of `/readyz`.
pub(crate) fn ready(context: &ServerContext) -> (StatusCode, &'static str) {
    if context.leaving.is_triggered() {
        return (StatusCode::SERVICE_UNAVAILABLE, "draining\n");
    }
    let state = context.state.load();
    let known = ConfiguredTargets {
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

/// The configured targets and providers. Names invented by clients do not count.
struct ConfiguredTargets<'a> {
    targets: &'a [String],
    providers: &'a [String],
    has_last_resort: bool,
}

impl ConfiguredTargets<'_> {
    /// Whether a target is usable. If none is configured by name, a provider with an
    /// accepted credential suffices.
    fn can_serve(&self, health: &Health) -> bool {
        let benched = |subject: &str| Some(health.status(subject)?.until_usable.is_some());
        let refused = |provider: &str| {
            let keys = (1..).map_while(|number| benched(&key_subject(provider, number)));
            match keys.reduce(|all, benched| all && benched) {
                Some(all_benched) => all_benched,
                None => benched(provider).unwrap_or(false),
            }
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

    /// Whether a target is known to be unusable. A single failure may be the request's
    /// fault, and the target still serves as a last resort: only a failed probe or an
    /// unreachable host is conclusive.
    fn is_out(&self, status: &HealthStatus) -> bool {
        let benched = status.until_usable.is_some();
        let known = match &status.cause {
            _ if status.closed || !self.has_last_resort => true,
            Some(BenchCause::Failed { kind, .. }) => kind.is_unreachable() || status.rounds > 1,
            Some(BenchCause::ByHand { .. }) | None => true,
        };
        benched && known
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use majordomo::{Class, ErrorKind};

    use super::*;

    #[test]
    fn one_usable_target_is_enough() {
        let rows: [(&[&str], &[&str], bool); 9] = [
            (&["a/x", "b/y"], &[], true),
            (&["a/x", "b/y"], &["a/x"], true),
            (&["a/x", "b/y"], &["a/x", "b/y"], false),
            (&["a/x", "b/y"], &["a", "b/y"], false),
            (&[], &["a/x"], true),
            (&[], &["a"], true),
            (&[], &["a", "b"], false),
            (&["a/x"], &["a key 1"], false),
            (&["c/x"], &["c key 1"], true),
        ];
        let owned = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect::<Vec<_>>();
        for (targets, benched, expected) in rows {
            let health = Health::default();
            health.declare(["c key 1", "c key 2"]);
            for name in benched {
                health.bench(name, Duration::from_secs(60), "why");
            }
            let known = ConfiguredTargets {
                targets: &owned(targets),
                providers: &owned(&["a", "b"]),
                has_last_resort: true,
            };
            let able = known.can_serve(&health);
            assert_eq!(able, expected, "{targets:?} without {benched:?}");
        }
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
            let known = ConfiguredTargets {
                targets: &[],
                providers: &[],
                has_last_resort,
            };
            assert_eq!(known.is_out(&status), out, "{status:?} {has_last_resort}");
        }
    }
}
