//! Everything that one configuration means, swapped whole when it changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use majordomo::transport::Transport;
use majordomo::{
    BoxFuture, Chain, ChainConfig, Change, Error, ErrorKind, Image, ModelInfo, Registry, Request,
    Result, SpecError, nearest,
};

use crate::arrival::Arrival;
use crate::balance::{SessionHints, SessionKey};
use crate::catalogue::Catalogue;
use crate::config::{Config, Found, Problems, Server};
use crate::fetch::Fetcher;
use crate::keys::Keys;
use crate::routes::{Asking, PartitionSnapshot, RouteTrace, Routed, Routes};
use crate::shapes::{RemoteImages, Stateful};
use crate::vision::{DescribeForBlind, FetchImage, Scope, Vision};

/// One configuration at work. Requests keep the one that they began with.
pub struct State {
    pub(crate) server: Server,
    pub(crate) keys: Keys,
    pub(crate) registry: Registry,
    config: Config,
    pub(crate) routes: Routes,
    pub(crate) catalogue: Catalogue,
    pub(crate) vision: Arc<Vision>,
}

/// Who may serve a request, and what it became on the way there.
pub(crate) struct Plan {
    pub(crate) chain: Chain,
    pub(crate) request: Request,
    /// What was changed before any target was chosen.
    pub(crate) changes: Vec<Change>,
    /// Why it goes there, if a route says where.
    pub(crate) trace: Option<RouteTrace>,
}

impl State {
    /// Puts a configuration to work. What an earlier one learned about targets
    /// and services that stay is kept.
    pub fn new(
        config: &Config,
        environment: &BTreeMap<String, String>,
        transport: &Transport,
        earlier: Option<&Self>,
    ) -> Result<Self, Problems> {
        let fetcher = Fetcher::new(config.fetch.clone());
        let mut chain: ChainConfig = config.chain_config();
        chain
            .shapes
            .insert(0, Arc::new(RemoteImages(fetcher.clone())));
        chain.shapes.insert(0, Arc::new(Stateful));
        let same_health = earlier.filter(|old| old.config.health == config.health);
        let registry = config.registry(environment, transport, |builder| {
            let builder = builder.chain(chain);
            match same_health {
                Some(old) => builder.remembering(&old.registry),
                None => builder,
            }
        })?;
        let settings = config.vision.settings();
        let vision = match earlier {
            Some(old) => old.vision.reconfigured(settings),
            None => Vision::new(settings),
        };
        let vision = match config.fetch.enabled {
            true => vision.fetching(Arc::new(Fetching(fetcher))),
            false => vision,
        };
        let routes = Routes::new(config, &registry, earlier.map(|old| &old.routes))?;
        let listed = config.lookup_order(&Found::default());
        let mut order = listed;
        for name in registry.providers() {
            if !order.contains(&name) {
                order.push(name);
            }
        }
        Ok(Self {
            server: config.server.clone(),
            keys: Keys::new(&config.keys),
            config: config.clone(),
            routes,
            catalogue: Catalogue::new(registry.clone(), order),
            vision: Arc::new(vision),
            registry,
        })
    }

    /// The way of one request.
    pub(crate) async fn plan(
        &self,
        model: &str,
        request: Request,
        arrival: &Arrival,
        scope: Scope,
    ) -> Result<Plan> {
        let key = arrival.key.as_ref().map(|key| key.name());
        let Some(route) = self.routes.find(model) else {
            let chain = self.chain(model).await?;
            return Ok(Plan {
                chain: self.seeing(chain, &request, &self.routes.describers, scope),
                request,
                changes: Vec::new(),
                trace: None,
            });
        };
        let named = arrival.headers.get("x-session-id");
        let named = named.and_then(|value| value.to_str().ok());
        let asking = Asking {
            model,
            key,
            session: session(&request, named, key),
            headers: &arrival.headers,
            scope: &scope,
            vision: &self.vision,
            registry: &self.registry,
            traced: self.server.traces > 0,
        };
        let Routed {
            chain,
            request,
            changes,
            trace,
        } = route.route(&asking, request).await?;
        Ok(Plan {
            chain: self.seeing(chain, &request, &route.describers, scope),
            request,
            changes,
            trace: Some(trace),
        })
    }

    /// The chain, whose blind targets get descriptions where somebody gives them.
    pub(crate) fn seeing(
        &self,
        chain: Chain,
        request: &Request,
        describers: &Arc<crate::vision::Describers>,
        scope: Scope,
    ) -> Chain {
        if describers.is_empty() || !Vision::has_images(request) {
            return chain;
        }
        let describers = Arc::clone(describers);
        let shape = DescribeForBlind::new(Arc::clone(&self.vision), describers, scope);
        chain.shaped_by(Arc::new(shape))
    }

    /// What a name stands for: a route, an alias, a spec, or a model of a provider.
    pub(crate) async fn chain(&self, model: &str) -> Result<Chain> {
        if let Some(route) = self.routes.find(model) {
            return route.plain(model, &self.registry);
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
        let mut models: Vec<ModelInfo> = Vec::new();
        let named = self.routes.names().map(str::to_owned);
        let aliases = self.registry.aliases().into_iter().map(|(name, _)| name);
        for name in named.chain(aliases) {
            let chain = match self.routes.find(&name) {
                Some(route) => route.plain(&name, &self.registry).ok(),
                None => self.registry.parse(&name).ok(),
            };
            models.push(ModelInfo {
                capabilities: chain.and_then(|chain| head(&chain)),
                id: name,
            });
        }
        for (provider, list) in self.catalogue.all().await {
            for model in list.iter() {
                let id = format!("{provider}/{}", model.id);
                let known = self.registry.parse(&id).ok().and_then(|chain| head(&chain));
                models.push(ModelInfo {
                    capabilities: known.or_else(|| model.capabilities.clone()),
                    id,
                });
            }
        }
        models.retain(|model| arrival.allow(&model.id).is_ok());
        models
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

    /// How the services of all routes are doing.
    pub(crate) fn services(&self) -> Vec<PartitionSnapshot> {
        self.routes.snapshots()
    }

    /// Every target that a route or an alias leads to, as `provider/model`.
    pub(crate) fn targets(&self) -> Vec<String> {
        let mut targets = Vec::new();
        let aliases = self.registry.aliases().into_iter().map(|(name, _)| name);
        for name in self.routes.names().map(str::to_owned).chain(aliases) {
            let chain = match self.routes.find(&name) {
                Some(route) => route.plain(&name, &self.registry).ok(),
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
            .flat_map(|(_, list)| list.iter().map(|model| model.id.as_str()));
        let aliases = self.registry.aliases();
        let aliases = aliases.iter().map(|(name, _)| name.as_str());
        let known = self.routes.names().chain(aliases).chain(listed);
        let mut text =
            format!("`{model}` is no route, no alias, no spec and in no provider's list of models");
        match nearest(model, known) {
            Some(near) => text.push_str(&format!("; did you mean `{near}`?")),
            None => text.push_str(&format!(" ({problem})")),
        }
        Error::new(ErrorKind::ModelNotFound, text)
    }
}

/// What the first target of a chain takes.
fn head(chain: &Chain) -> Option<majordomo::Capabilities> {
    let mut described = chain.describe().map(|(_, known)| (*known).clone());
    described.next()
}

/// The conversation that a request belongs to.
pub(crate) fn session(
    request: &Request,
    header: Option<&str>,
    key: Option<&str>,
) -> Option<SessionKey> {
    SessionKey::of(&SessionHints {
        user_id: request.user.as_deref(),
        prompt_cache_key: request.cache_key.as_deref(),
        session_header: header,
        key_name: key,
    })
}

fn unknown(problem: &SpecError) -> Error {
    Error::new(ErrorKind::ModelNotFound, problem.to_string())
}

/// The gateway's fetcher, for descriptions.
struct Fetching(Fetcher);

impl FetchImage for Fetching {
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Image>> {
        Box::pin(async move {
            let fetched = self.0.fetch(url).await;
            fetched.map_err(|why| Error::new(ErrorKind::Unsupported, why.to_string()))
        })
    }
}

/// The configuration at work, for those who ask for it anew each time.
pub(crate) type Shared = Arc<arc_swap::ArcSwap<State>>;
