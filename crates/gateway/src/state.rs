//! Everything that one configuration means, swapped whole when it changes.

use std::sync::Arc;

use majordomo::{Chain, Change, Error, ErrorKind, ModelInfo, Registry, Request, Result, SpecError};

use crate::arrival::Arrival;
use crate::catalogue::Catalogue;
use crate::config::{Config, Problems, Server};
use crate::keys::Keys;
use crate::routes::Routes;

/// One configuration at work. Requests keep the one that they began with.
pub struct State {
    pub(crate) server: Server,
    pub(crate) keys: Keys,
    pub(crate) registry: Registry,
    routes: Routes,
    catalogue: Catalogue,
}

/// Who may serve a request, and what it became on the way there.
pub(crate) struct Plan {
    pub(crate) chain: Chain,
    pub(crate) request: Request,
    /// What was changed before any target was chosen.
    pub(crate) changes: Vec<Change>,
}

impl State {
    /// Puts a configuration to work on these providers.
    pub fn new(config: &Config, registry: Registry) -> Result<Self, Problems> {
        let mut listed: Vec<String> = config.providers.iter().map(|p| p.name.clone()).collect();
        for name in registry.providers() {
            if !listed.contains(&name) {
                listed.push(name);
            }
        }
        Ok(Self {
            server: config.server.clone(),
            keys: Keys::new(&config.keys),
            routes: Routes::new(config, &registry)?,
            catalogue: Catalogue::new(registry.clone(), listed),
            registry,
        })
    }

    /// The way of one request.
    pub(crate) async fn plan(
        &self,
        model: &str,
        request: Request,
        _arrival: &Arrival,
    ) -> Result<Plan> {
        let chain = self.chain(model).await?;
        Ok(Plan {
            chain,
            request,
            changes: Vec::new(),
        })
    }

    /// What a name stands for: a route, an alias, a spec, or a model of a provider.
    pub(crate) async fn chain(&self, model: &str) -> Result<Chain> {
        if let Some(route) = self.routes.find(model) {
            return route.chain(model, &self.registry);
        }
        let problem = match self.registry.resolve(model).await {
            Ok(chain) => return Ok(chain),
            Err(problem) => problem,
        };
        match self.catalogue.find(model).await {
            Some(spec) => self.registry.parse(&spec).map_err(|_| unknown(&problem)),
            None => Err(self.unknown(model, &problem).await),
        }
    }

    /// What this client can ask for.
    pub(crate) async fn models(&self, arrival: &Arrival) -> Vec<ModelInfo> {
        let mut ids: Vec<ModelInfo> = Vec::new();
        let named = self.routes.names().map(str::to_owned);
        let aliases = self.registry.aliases().into_iter().map(|(name, _)| name);
        for name in named.chain(aliases) {
            let chain = match self.routes.find(&name) {
                Some(route) => route.chain(&name, &self.registry),
                None => self.registry.parse(&name).map_err(|e| unknown(&e)),
            };
            let head = chain.ok().and_then(|chain| {
                let mut described = chain.describe().map(|(_, known)| (*known).clone());
                described.next()
            });
            ids.push(ModelInfo {
                id: name,
                capabilities: head,
            });
        }
        for (provider, list) in self.catalogue.all().await {
            for model in list.iter() {
                let id = format!("{provider}/{}", model.id);
                let known = self.registry.parse(&id).ok();
                let own = known.and_then(|chain| {
                    let mut described = chain.describe().map(|(_, known)| (*known).clone());
                    described.next()
                });
                ids.push(ModelInfo {
                    id,
                    capabilities: model.capabilities.clone().or(own),
                });
            }
        }
        ids.retain(|model| arrival.allow(&model.id).is_ok());
        ids
    }

    /// The names of everything that can be asked for.
    pub(crate) async fn names(&self) -> Vec<String> {
        let routes = self.routes.names().map(str::to_owned);
        let aliases = self.registry.aliases().into_iter().map(|(name, _)| name);
        let lists = self.catalogue.all().await;
        let listed = lists.iter().flat_map(|(provider, list)| {
            let models = list.iter();
            models.map(move |model| format!("{provider}/{}", model.id))
        });
        routes.chain(aliases).chain(listed).collect()
    }

    /// Every target that a route or an alias leads to, as `provider/model`.
    pub(crate) fn targets(&self) -> Vec<String> {
        let mut targets = Vec::new();
        let aliases = self.registry.aliases().into_iter().map(|(name, _)| name);
        for name in self.routes.names().map(str::to_owned).chain(aliases) {
            let chain = match self.routes.find(&name) {
                Some(route) => route.chain(&name, &self.registry).ok(),
                None => self.registry.parse(&name).ok(),
            };
            let found = chain.iter().flat_map(|chain| chain.targets());
            targets.extend(found.map(ToString::to_string));
        }
        targets.sort_unstable();
        targets.dedup();
        targets
    }

    /// Nobody knows the name: says what was looked for and what is near.
    async fn unknown(&self, model: &str, problem: &SpecError) -> Error {
        let lists = self.catalogue.all().await;
        let listed = lists
            .iter()
            .flat_map(|(_, list)| list.iter().map(|m| m.id.as_str()));
        let aliases = self.registry.aliases();
        let aliases = aliases.iter().map(|(name, _)| name.as_str());
        let known = self.routes.names().chain(aliases).chain(listed);
        let near = crate::config::nearest::nearest(model, known);
        let mut text =
            format!("`{model}` is no route, no alias, no spec and in no provider's list of models");
        match near {
            Some(near) => text.push_str(&format!("; did you mean `{near}`?")),
            None => text.push_str(&format!(" ({problem})")),
        }
        Error::new(ErrorKind::ModelNotFound, text)
    }
}

fn unknown(problem: &SpecError) -> Error {
    Error::new(ErrorKind::ModelNotFound, problem.to_string())
}

/// For those who wait for a new one.
pub(crate) type Shared = Arc<arc_swap::ArcSwap<State>>;
