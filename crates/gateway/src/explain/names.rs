//! Resolves the names in a dry run, without new requests to providers.

use std::sync::Arc;

use majordomo::nearest::{did_you_mean, nearest};
use majordomo::{Chain, Error, ErrorKind};

use super::bad;
use super::request::ExplainRequest;
use crate::keys::ClientKey;
use crate::refusal::Result;
use crate::routes::Route;
use crate::state::GatewayState;

impl GatewayState {
    /// The named key.
    pub(super) fn known_key(&self, input: &ExplainRequest) -> Result<Option<Arc<ClientKey>>> {
        let Some(name) = &input.key else {
            return Ok(None);
        };
        let known = input.known_key.clone();
        let known = known.or_else(|| self.keys.named(name));
        known.map(Some).ok_or_else(|| {
            let near = nearest(name, self.keys.names());
            bad(format!("no key is named `{name}`{}", did_you_mean(near)))
        })
    }

    /// The named route.
    pub(super) fn named_route(&self, input: &ExplainRequest) -> Result<Option<&Route>> {
        let Some(name) = &input.route else {
            return Ok(None);
        };
        let written = self.routes.find_exactly(name);
        let found = written.or_else(|| self.routes.find(name));
        found.map(Some).ok_or_else(|| {
            let near = nearest(name, self.routes.names());
            let text = format!("no route is named `{name}`{}", did_you_mean(near));
            Error::new(ErrorKind::ModelNotFound, text).into()
        })
    }

    /// The targets of a model without a route.
    pub(super) fn known_chain(&self, model: &str) -> Result<Chain> {
        let problem = match self.registry.model(model) {
            Ok(chain) => return Ok(chain),
            Err(problem) => problem,
        };
        let listed = self.catalogue.known(model);
        if let Some(chain) = listed.and_then(|spec| self.registry.model(&spec).ok()) {
            return Ok(chain);
        }
        let text = format!(
            "`{model}` is not a route, an alias or a spec, and a dry run does not query \
             providers for their models ({problem})"
        );
        Err(Error::new(ErrorKind::ModelNotFound, text).into())
    }
}
