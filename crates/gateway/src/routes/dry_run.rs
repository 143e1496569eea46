//! Dry run of a route: how it would handle a request.

use std::sync::Arc;

use majordomo::{Chain, Request};
use majordomo_balance::PickSource;
use majordomo_rules::{Applied, Verdict, dry_run};
use serde::Serialize;

use super::partition::RouteService;
use super::route::{Route, RoutingContext};
use crate::refusal::Result;

/// A service that would be tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Candidate {
    /// Its spec as written in the file.
    pub service: String,
    /// The rule it belongs to; `None` for the route itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Its targets, in order.
    pub targets: Vec<String>,
}

/// A service that would not be tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExcludedService {
    /// Its spec as written in the file.
    pub service: String,
    /// The rule it belongs to; `None` for the route itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The reason: `inactive` or `benched`.
    pub why: &'static str,
}

/// The outcome of a dry run.
pub(crate) struct DryRun {
    pub(crate) verdict: Verdict,
    pub(crate) applied: Applied,
    /// The request after its processors, as far as it can be predicted.
    pub(crate) request: Request,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) left_out: Vec<ExcludedService>,
    pub(crate) source: PickSource,
    pub(crate) tactic: &'static str,
    pub(crate) chain: Chain,
}

impl Route {
    /// Predicts [`route`](Self::route) without upstream calls or side effects: no turn is
    /// taken and no session is pinned. Random tactics still pick at random.
    pub(crate) async fn dry_run(
        &self,
        context: &RoutingContext<'_>,
        request: Request,
    ) -> Result<DryRun> {
        let header = |name: &str| context.headers.get(name)?.to_str().ok();
        let mut changed = request.clone();
        let subject = self.subject(&request, context, &header);
        let verdict = self.rules.explain(&subject);
        let applied = dry_run(
            &self.rules,
            verdict.matched,
            &subject,
            &mut changed,
            |rule| self.upstreams(rule, context),
            &context.extensions(),
        )
        .await?;
        let (mut candidates, mut left_out) = (Vec::new(), Vec::new());
        let mut chains = Vec::new();
        let mut first = None;
        for picked_from in self.partition_picks(context, applied.destination) {
            let rule = picked_from
                .rule
                .map(|rule| self.rules.name(rule).to_owned());
            let (source, services) = picked_from.partition.order(&picked_from.pick);
            let services: Vec<&Arc<RouteService>> = services.collect();
            first.get_or_insert((source, picked_from.partition.pool.tactic_name()));
            for service in &services {
                let chain = service.chain(context.model, context.registry)?;
                candidates.push(Candidate {
                    service: service.spec.clone(),
                    rule: rule.clone(),
                    targets: chain.targets().map(ToString::to_string).collect(),
                });
                chains.push(chain);
            }
            let is_candidate = |service| services.iter().any(|known| Arc::ptr_eq(known, service));
            for service in picked_from
                .partition
                .services
                .iter()
                .filter(|it| !is_candidate(it))
            {
                left_out.push(ExcludedService {
                    service: service.spec.clone(),
                    rule: rule.clone(),
                    why: if service.active {
                        "benched"
                    } else {
                        "inactive"
                    },
                });
            }
        }
        let chain = Chain::join(&chains).ok_or_else(|| self.no_active_service())?;
        let (source, tactic) = first.unwrap_or((PickSource::LeastBad, ""));
        Ok(DryRun {
            verdict,
            applied,
            request: changed,
            candidates,
            left_out,
            source,
            tactic,
            chain,
        })
    }
}
