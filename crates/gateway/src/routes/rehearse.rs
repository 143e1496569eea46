//! Dry run of a route: what would happen to a request.

use std::sync::Arc;

use majordomo::{Chain, Request, Result};
use majordomo_balance::Source;
use majordomo_rules::Verdict;
use majordomo_rules::processors::{Applied, rehearse};
use serde::Serialize;

use super::partition::Service;
use super::route::{Asking, Route, processors};

/// A service that would be tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
pub struct LeftOut {
    /// Its spec as written in the file.
    pub service: String,
    /// The rule it belongs to; `None` for the route itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The reason: `inactive` or `benched`.
    pub why: &'static str,
}

/// The outcome of a dry run.
pub(crate) struct Rehearsed {
    pub(crate) verdict: Verdict,
    pub(crate) applied: Applied,
    /// The request after its processors, as far as it can be predicted.
    pub(crate) request: Request,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) source: Source,
    pub(crate) tactic: &'static str,
    pub(crate) chain: Chain,
}

impl Route {
    /// Predicts [`route`](Self::route) without upstream calls or side effects: no turn is
    /// taken and no session is pinned. Random tactics still pick at random.
    pub(crate) async fn rehearse(
        &self,
        asking: &Asking<'_>,
        request: Request,
    ) -> Result<Rehearsed> {
        let header = |name: &str| asking.headers.get(name)?.to_str().ok();
        let mut changed = request.clone();
        let subject = self.subject(&request, asking, &header);
        let verdict = self.rules.explain(&subject);
        let applied = rehearse(
            &self.rules,
            verdict.matched,
            &processors(asking),
            &subject,
            &mut changed,
        )
        .await;
        let (mut candidates, mut left_out) = (Vec::new(), Vec::new());
        let mut chains = Vec::new();
        let mut first = None;
        for turn in self.turns(asking, applied.destination) {
            let rule = turn.rule.map(|rule| self.rules.name(rule).to_owned());
            let (source, services) = turn.partition.order(&turn.pick);
            let services: Vec<&Arc<Service>> = services.collect();
            first.get_or_insert((source, turn.partition.pool.tactic_name()));
            for service in &services {
                let chain = service.chain(asking.model, asking.registry)?;
                candidates.push(Candidate {
                    service: service.spec.clone(),
                    rule: rule.clone(),
                    targets: chain.targets().map(ToString::to_string).collect(),
                });
                chains.push(chain);
            }
            let asked = |service| services.iter().any(|known| Arc::ptr_eq(known, service));
            for service in turn.partition.services.iter().filter(|it| !asked(it)) {
                left_out.push(LeftOut {
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
        let chain = Chain::join(&chains).ok_or_else(|| self.closed())?;
        let (source, tactic) = first.unwrap_or((Source::LeastBad, ""));
        Ok(Rehearsed {
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
