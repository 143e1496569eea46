//! The way that a request would go, without going it.

use std::sync::Arc;

use majordomo::{Chain, Request, Result};
use majordomo_balance::PickSource;
use majordomo_rules::Verdict;
use majordomo_rules::processors::{Applied, dry_run};
use serde::Serialize;

use super::partition::Service;
use super::route::{Asking, Route, processors};

/// A service that would be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// Its spec, as the file has it.
    pub service: String,
    /// The rule whose service it is; none for the route's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Its targets, in order.
    pub targets: Vec<String>,
}

/// A service that would not be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its spec, as the file has it.
    pub service: String,
    /// The rule whose service it is; none for the route's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why: `inactive` or `benched`.
    pub why: &'static str,
}

/// What would come of a request.
pub(crate) struct Rehearsed {
    pub(crate) verdict: Verdict,
    pub(crate) applied: Applied,
    /// The request after its processors, as far as that can be told.
    pub(crate) request: Request,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) source: PickSource,
    pub(crate) tactic: &'static str,
    pub(crate) chain: Chain,
}

impl Route {
    /// What [`route`](Self::route) would do. Nobody is asked, no turn is taken and
    /// no session is pinned; where a tactic rolls dice, so does this.
    pub(crate) async fn rehearse(
        &self,
        asking: &Asking<'_>,
        request: Request,
    ) -> Result<Rehearsed> {
        let header = |name: &str| asking.headers.get(name)?.to_str().ok();
        let mut changed = request.clone();
        let subject = self.subject(&request, asking, &header);
        let verdict = self.rules.explain(&subject);
        let applied = dry_run(
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
        let (source, tactic) = first.unwrap_or((PickSource::LeastBad, ""));
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
