//! Who serves what is no conversation: embeddings, counts of tokens.
//!
//! Rules and balance decide as for an answer. Processors do not run, because there
//! is nothing that they could change.

use std::sync::Arc;

use majordomo::{Chain, Request, Result};
use majordomo_rules::processors::destination;

use super::route::{Asking, Route, RouteTrace, processors};

impl Route {
    /// The services in the order in which they are to be asked. Conditions see
    /// `request`, which is empty where the dialect's body is not read.
    pub(crate) fn beside(
        &self,
        asking: &Asking<'_>,
        request: &Request,
    ) -> Result<(Chain, RouteTrace)> {
        let header = |name: &str| asking.headers.get(name)?.to_str().ok();
        let subject = self.subject(request, asking, &header);
        let (matched, rules) = if asking.traced && !self.narrowed.is_empty() {
            let (matched, notes) = self.rules.evaluate_with_notes(&subject);
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
