//! Routes requests that are not conversations: embeddings.
//!
//! Rules and balancing work as usual. Processors do not run, since there is nothing for
//! them to edit.

use std::sync::Arc;

use majordomo::{Chain, Request};
use majordomo_rules::destination;

use super::route::{Route, RouteTrace, RoutingContext};
use crate::refusal::Result;

impl Route {
    /// Orders the services. Conditions see `request`, which is empty if the dialect's
    /// body is not decoded.
    pub(crate) fn route_unprocessed(
        &self,
        context: &RoutingContext<'_>,
        request: &Request,
    ) -> Result<(Chain, RouteTrace)> {
        let header = |name: &str| context.headers.get(name)?.to_str().ok();
        let subject = self.subject(request, context, &header);
        let (matched, rules) = if context.traced && !self.rule_partitions.is_empty() {
            let (matched, notes) = self.rules.evaluate_with_notes(&subject);
            (matched, Some(notes))
        } else {
            (self.rules.evaluate(&subject), None)
        };
        let destination = destination(&self.rules, matched);
        let (chain, source) = self.ordered(context, destination)?;
        let trace = RouteTrace {
            route: Arc::clone(&self.name),
            rule: matched.map(|rule| self.rules.name(rule).into()),
            rules,
            processors: Vec::new(),
            because: source.name(),
        };
        Ok((chain, trace))
    }
}
