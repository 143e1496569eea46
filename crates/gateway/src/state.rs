//! Everything that one configuration means, swapped whole when it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use majordomo::transport::Transport;
use majordomo::{
    AllBenched, BoxFuture, Chain, ChainConfig, Change, Error, ErrorKind, Image, ModelInfo,
    Registry, Request, Result, SpecError, nearest,
};
use majordomo_balance::{SessionHints, SessionKey};
use majordomo_vision::{DescribeForTextOnly, FetchImage, Scope, Vision};

use crate::admitted::AdmittedRequest;
use crate::catalogue::Catalogue;
use crate::config::{Config, Detected, Problems, Server};
use crate::fetch::Fetcher;
use crate::keys::Keys;
use crate::routes::{Asking, PartitionSnapshot, RouteTrace, Routed, Routes};
use crate::shapes::{RemoteImages, Stateful};

/// One configuration at work. Requests keep the one that they began with.
pub struct State {
    pub(crate) server: Server,
    pub(crate) keys: Keys,
    pub(crate) registry: Registry,
    config: Config,
    pub(crate) routes: Routes,
    /// Every target that the configuration names, as `provider/model`.
    pub(crate) targets: Vec<String>,
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
                Some(old) => builder.inheriting_health(&old.registry),
                None => builder,
            }
        })?;
        registry.forget_changed_providers();
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
        let targets = targets(config, &registry, &routes);
        registry
            .health()
            .declare(targets.iter().map(String::as_str));
        let listed = config.lookup_order(&Detected::default());
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
            targets,
            catalogue: Catalogue::new(registry.clone(), order),
            vision: Arc::new(vision),
            registry,
        })
    }

    /// The configuration that this is made of.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// The way of one request.
    pub(crate) async fn plan(
        &self,
        model: &str,
        request: Request,
        admitted: &AdmittedRequest,
        scope: Scope,
    ) -> Result<Plan> {
        let Some(route) = self.routes.find(model) else {
            let chain = self.chain(model).await?;
            return Ok(Plan {
                chain: self.seeing(chain, &request, &self.routes.describers, scope),
                request,
                changes: Vec::new(),
                trace: None,
            });
        };
        let asking = self.asking(model, &request, admitted, &scope);
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

    /// What a request to a route is judged by.
    fn asking<'a>(
        &'a self,
        model: &'a str,
        request: &Request,
        admitted: &'a AdmittedRequest,
        scope: &'a Scope,
    ) -> Asking<'a> {
        let key = admitted.key.as_ref().map(|key| key.name());
        let named = admitted.headers.get("x-session-id");
        let named = named.and_then(|value| value.to_str().ok());
        Asking {
            model,
            key,
            session: session(request, named, key),
            headers: &admitted.headers,
            scope,
            vision: &self.vision,
            registry: &self.registry,
            traced: self.server.traces > 0,
            binding: true,
        }
    }

    /// Who serves what is no conversation. `binding` is whether they will be asked
    /// for an answer, and not only about one.
    pub(crate) async fn beside(
        &self,
        model: &str,
        request: &Request,
        admitted: &AdmittedRequest,
        binding: bool,
    ) -> Result<(Chain, Option<RouteTrace>)> {
        let Some(route) = self.routes.find(model) else {
            return Ok((self.chain(model).await?, None));
        };
        let key = admitted.key.as_ref().map(|key| key.name());
        let scope = Scope::of_key(key.unwrap_or_default());
        let asking = Asking {
            binding,
            ..self.asking(model, request, admitted, &scope)
        };
        let (chain, trace) = route.beside(&asking, request)?;
        Ok((chain, Some(trace)))
    }

    /// The chain, whose blind targets get descriptions where somebody gives them.
    pub(crate) fn seeing(
        &self,
        chain: Chain,
        request: &Request,
        describers: &Arc<majordomo_vision::Describers>,
        scope: Scope,
    ) -> Chain {
        if describers.is_empty() || !Vision::has_images(request) {
            return chain;
        }
        let describers = Arc::clone(describers);
        let shape = DescribeForTextOnly::new(Arc::clone(&self.vision), describers, scope);
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
    pub(crate) async fn models(&self, admitted: &AdmittedRequest) -> Vec<ModelInfo> {
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
        models.retain(|model| admitted.allow(&model.id).is_ok());
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

    /// Whether a benched target is still asked when nobody else can serve.
    pub(crate) fn has_last_resort(&self) -> bool {
        self.config.chain.all_benched == AllBenched::LeastBad
    }

    /// Every target that the file names, wherever it does.
    pub(crate) fn named_targets(&self) -> BTreeSet<String> {
        let models = self.config.providers.iter().flat_map(|provider| {
            let models = provider.models.iter();
            models.map(|model| format!("{}/{}", provider.name, model.id))
        });
        let mut targets: BTreeSet<String> = models.collect();
        for spec in self.config.specs() {
            let chain = self.registry.parse(&spec.text).ok();
            let found = chain.iter().flat_map(|chain| chain.targets());
            targets.extend(found.map(ToString::to_string));
        }
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

/// Every target that a route, an alias or a provider's list of models names.
fn targets(config: &Config, registry: &Registry, routes: &Routes) -> Vec<String> {
    let mut targets: Vec<String> = routes.targets().collect();
    let aliases = registry.aliases().into_iter().map(|(name, _)| name);
    for name in routes.names().map(str::to_owned).chain(aliases) {
        let chain = match routes.find(&name) {
            Some(route) => route.plain(&name, registry).ok(),
            None => registry.parse(&name).ok(),
        };
        let found = chain.iter().flat_map(|chain| chain.targets());
        targets.extend(found.map(ToString::to_string));
    }
    for provider in &config.providers {
        let models = provider.models.iter();
        targets.extend(models.map(|model| format!("{}/{}", provider.name, model.id)));
    }
    targets.sort_unstable();
    targets.dedup();
    targets
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
