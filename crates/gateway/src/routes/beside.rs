//! Routes requests that are not conversations: embeddings and token counts.
//!
//! Rules and balancing work as usual. Processors do not run, since there is nothing for
//! them to edit.

use std::sync::Arc;

use majordomo::{Chain, Request, Result};
use majordomo_rules::processors::destination;

use super::route::{Asking, Route, RouteTrace, processors};

impl Route {
    /// Orders the services. Conditions see `request`, which is empty if the dialect's
    /// body is not decoded.
    pub(crate) fn beside(
        &self,
        asking: &Asking<'_>,
        request: &Request,
    ) -> Result<(Chain, RouteTrace)> {
        let header = |name: &str| asking.headers.get(name)?.to_str().ok();
        let subject = self.subject(request, asking, &header);
        let (matched, rules) = if asking.traced && !self.narrowed.is_empty() {
            let (matched, notes) = self.rules.evaluate_noting(&subject);
            (matched, Some(notes))
        } else {
            (self.rules.evaluate(&subject), None)
        };
        let destination = destination(&self.rules, matched, &processors(asking));
        let (chain, source) = self.ordered(asking, destination)?;
        let trace = RouteTrace {
            route: Arc::clone(&self.name),
            rules,
            processors: Vec::new(),
            because: source.name(),
        };
        Ok((chain, trace))
    }
}
