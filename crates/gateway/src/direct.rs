//! Direct use of a configuration, without a server: the code that the commands `chat`,
//! `models`, `fit` and `explain` share with `serve`.
//!
//! May use `state`.

use majordomo::llm::ModelInfo;
use majordomo::spec::SpecError;
use majordomo::{Chain, Registry};
use majordomo_vision::Scope;

use crate::state::{GatewayState, head};

impl GatewayState {
    /// The providers and aliases.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Resolves a name as clients may use it: a route, an alias, a spec, or a model of a
    /// provider's list. Rules and balancing do not apply: a route stands for its active
    /// services, by tier and then in the order of the file, with its describers.
    pub async fn model(&self, name: &str) -> Result<Chain, SpecError> {
        let (chain, describers) = match self.routes.find(name) {
            Some(route) => {
                let chain = route.declared_chain(name, &self.registry);
                let chain = chain.map_err(|error| SpecError::Model {
                    reason: error.to_string(),
                })?;
                (chain, &route.describers)
            }
            None => (self.without_route(name).await?, &self.routes.describers),
        };
        Ok(self.describing(chain, describers, Scope::of_key("")))
    }

    async fn without_route(&self, name: &str) -> Result<Chain, SpecError> {
        let problem = match self.registry.resolve(name).await {
            Ok(chain) => return Ok(chain),
            Err(problem) => problem,
        };
        // Only a bare name can be in a provider's list.
        if name.contains(['/', ',']) {
            return Err(problem);
        }
        match self.catalogue.find(name).await {
            Some(spec) => self.registry.model(&spec),
            None => Err(problem),
        }
    }

    /// The routes without wildcards and the aliases, with the capabilities of their first
    /// target.
    pub fn named_models(&self) -> Vec<ModelInfo> {
        let routes = self.routes.names().map(str::to_owned);
        let aliases = self.registry.aliases().into_iter().map(|(name, _)| name);
        let described = |name: String| {
            let chain = match self.routes.find(&name) {
                Some(route) => route.declared_chain(&name, &self.registry).ok(),
                None => self.registry.model(&name).ok(),
            };
            ModelInfo {
                capabilities: chain.and_then(|chain| head(&chain)),
                id: name,
            }
        };
        routes.chain(aliases).map(described).collect()
    }

    /// Whether the user set the provider up: in the file, by a key or by a DSN. Built-in
    /// providers that were not set up may fail silently.
    pub fn is_configured(&self, provider: &str) -> bool {
        self.catalogue.is_configured(provider)
    }
}
