//! The state built from one configuration; a reload replaces it as a whole.
//!
//! May use everything below the server: `admitted`, `catalogue`, `cluster`, `config`,
//! `fetch`, `keys`, `pricing`, `quota`, `refusal`, `routes`, `shapes`.

mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use majordomo::chain::{AllBenched, ChainConfig};
use majordomo::llm::ModelInfo;
use majordomo::nearest::nearest;
use majordomo::spec::SpecError;
use majordomo::transport::Transport;
use majordomo::{BoxFuture, Chain, Error, ErrorKind, Image, Registry, Request};
use majordomo_rules::Processors;
use majordomo_vision::{DescribeForTextOnly, FetchImage, Scope, Vision};

use crate::admitted::AdmittedRequest;
use crate::bench_history::BenchHistory;
use crate::catalogue::ModelCatalogue;
use crate::cluster::{BenchTeller, Cluster};
use crate::config::{Config, Detected, Diagnostics, ServerSettings};
use crate::fetch::Fetcher;
use crate::keys::ClientKeys;
use crate::pricing::Pricing;
use crate::processors;
use crate::quota::LimitTerms;
use crate::refusal::Result;
use crate::routes::{PartitionSnapshot, Routes};
use crate::shapes::{RemoteImages, Stateful};

pub(crate) use plan::session;

/// An active configuration. A request uses the same one from start to end.
pub struct GatewayState {
    pub(crate) server: ServerSettings,
    pub(crate) keys: ClientKeys,
    pub(crate) registry: Registry,
    config: Config,
    pub(crate) routes: Routes,
    /// Every target named in the configuration, as `provider/model`.
    pub(crate) targets: Vec<String>,
    pub(crate) catalogue: ModelCatalogue,
    pub(crate) vision: Arc<Vision>,
    pub(crate) pricing: Arc<Pricing>,
    /// The benches of the last day, kept across reloads.
    pub(crate) benches: Arc<BenchHistory>,
    /// Limits beyond those of keys and teams.
    pub(crate) limits: LimitTerms,
    /// Whether a provider gets every request's id.
    traces_requests: bool,
}

impl GatewayState {
    /// Builds the state of a configuration. Health and statistics of `earlier` are kept
    /// for targets and services that remain.
    pub fn new(
        config: &Config,
        environment: &BTreeMap<String, String>,
        transport: &Transport,
        earlier: Option<&Self>,
    ) -> Result<Self, Diagnostics> {
        let processors = processors::built_in();
        Self::with_processors(config, environment, transport, &processors, earlier, None)
    }

    /// Like [`new`](Self::new), with these processors, as a member of this cluster.
    pub(crate) fn with_processors(
        config: &Config,
        environment: &BTreeMap<String, String>,
        transport: &Transport,
        processors: &Processors,
        earlier: Option<&Self>,
        cluster: Option<&Cluster>,
    ) -> Result<Self, Diagnostics> {
        let fetcher = Fetcher::new(config.fetch.clone());
        let mut chain: ChainConfig = config.chain_config();
        chain
            .shapes
            .insert(0, Arc::new(RemoteImages(fetcher.clone())));
        chain.shapes.insert(0, Arc::new(Stateful));
        let same_health = earlier.filter(|old| old.config.health == config.health);
        let benches = earlier.map(|old| Arc::clone(&old.benches));
        let benches = benches.unwrap_or_default();
        let registry = config.registry(environment, transport, |builder| {
            let builder = builder.chain(chain).observer(benches.clone());
            let builder = match cluster {
                Some(cluster) => builder.observer(Arc::new(BenchTeller(cluster.clone()))),
                None => builder,
            };
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
        let vision = match cluster {
            Some(cluster) => vision.sharing(Arc::new(cluster.clone())),
            None => vision,
        };
        let vision = match config.fetch.enabled {
            true => vision.fetching(Arc::new(VisionFetcher(fetcher))),
            false => vision,
        };
        let routes = Routes::new(
            config,
            &registry,
            processors,
            earlier.map(|old| &old.routes),
        )?;
        let mut warnings = config.warnings.clone();
        warnings.extend(routes.warnings.iter().cloned());
        let targets = targets(config, &registry, &routes);
        registry
            .health()
            .declare(targets.iter().map(String::as_str));
        let configured = config.configured_providers(environment);
        let mut order = config.lookup_order(&Detected::default());
        for name in registry.providers() {
            if !order.contains(&name) {
                order.push(name);
            }
        }
        Ok(Self {
            server: config.server.clone(),
            keys: ClientKeys::new(&config.keys, &config.teams),
            config: Config {
                warnings,
                ..config.clone()
            },
            routes,
            targets,
            catalogue: ModelCatalogue::new(registry.clone(), order, configured),
            vision: Arc::new(vision),
            pricing: Arc::new(Pricing::new(config, &registry)?),
            benches,
            limits: LimitTerms::new(&config.limits, earlier.map(|old| &old.limits)),
            traces_requests: config
                .providers
                .iter()
                .any(|provider| provider.options.trace == Some(true)),
            registry,
        })
    }

    /// Doubtful settings of the configuration: those of the file, and those found while the
    /// state was built.
    pub fn warnings(&self) -> Diagnostics {
        self.config.warnings()
    }

    /// Logs the warnings of `majordomo check`.
    pub(crate) fn log_warnings(&self) {
        let warnings = self.warnings();
        for warning in warnings.list() {
            let (line, _) = warnings.place(warning);
            let file = warnings.source().name();
            let hint = warning.hint.as_deref().unwrap_or_default();
            tracing::warn!(file, line, hint, "{}", warning.message);
        }
    }

    /// The configuration this state was built from.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Adds descriptions of images for targets that accept none.
    pub(crate) fn with_descriptions(
        &self,
        chain: Chain,
        request: &Request,
        describers: &Arc<majordomo_vision::Describers>,
        scope: Scope,
    ) -> Chain {
        match Vision::has_images(request.prompt()) {
            true => self.describing(chain, describers, scope),
            false => chain,
        }
    }

    /// Like [`with_descriptions`](Self::with_descriptions), for any request.
    pub(crate) fn describing(
        &self,
        chain: Chain,
        describers: &Arc<majordomo_vision::Describers>,
        scope: Scope,
    ) -> Chain {
        if describers.is_empty() {
            return chain;
        }
        let describers = Arc::clone(describers);
        let shape = DescribeForTextOnly::new(Arc::clone(&self.vision), describers, scope);
        chain.shaped_by(Arc::new(shape))
    }

    /// Resolves a model: a route, an alias, a spec, or a model from a provider's list.
    pub(crate) async fn chain(&self, model: &str) -> Result<Chain> {
        if let Some(route) = self.routes.find(model) {
            return route.declared_chain(model, &self.registry);
        }
        self.unrouted_chain(model).await
    }

    /// Resolves a model that is no route.
    async fn unrouted_chain(&self, model: &str) -> Result<Chain> {
        let problem = match self.registry.resolve(model).await {
            Ok(chain) => return Ok(chain),
            Err(problem) => problem,
        };
        match self.catalogue.find(model).await {
            Some(spec) => self
                .registry
                .model(&spec)
                .map_err(|_| unknown_model(&problem).into()),
            None => Err(self.unknown_model(model, &problem).await.into()),
        }
    }

    /// The models this client may use.
    pub(crate) async fn models(&self, admitted: &AdmittedRequest) -> Vec<ModelInfo> {
        let mut models = self.named_models();
        for (provider, list) in self.catalogue.all().await {
            for model in list.iter() {
                let id = format!("{provider}/{}", model.id);
                let known = self.registry.model(&id).ok().and_then(|chain| head(&chain));
                models.push(ModelInfo {
                    capabilities: known.or_else(|| model.capabilities.clone()),
                    id,
                });
            }
        }
        models.retain(|model| admitted.allow(&model.id).is_ok());
        models
    }

    /// The names of all models.
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

    /// Statistics of all services.
    pub(crate) fn services(&self) -> Vec<PartitionSnapshot> {
        self.routes.snapshots()
    }

    /// Whether a benched target may be tried as a last resort.
    pub(crate) fn has_last_resort(&self) -> bool {
        self.config.chain.all_benched == AllBenched::LeastBad
    }

    /// Every target named anywhere in the configuration.
    pub(crate) fn named_targets(&self) -> BTreeSet<String> {
        let models = self.config.providers.iter().flat_map(|provider| {
            let models = provider.models.iter();
            models.map(|model| format!("{}/{}", provider.name, model.id))
        });
        let mut targets: BTreeSet<String> = models.collect();
        for spec in self.config.specs() {
            let chain = self.registry.model(&spec.text).ok();
            let found = chain.iter().flat_map(|chain| chain.targets());
            targets.extend(found.map(ToString::to_string));
        }
        targets
    }

    /// The error for an unknown model, with a suggestion.
    async fn unknown_model(&self, model: &str, problem: &SpecError) -> Error {
        let lists = self.catalogue.all().await;
        let listed = lists
            .iter()
            .flat_map(|(_, list)| list.iter().map(|model| model.id.as_str()));
        let aliases = self.registry.aliases();
        let aliases = aliases.iter().map(|(name, _)| name.as_str());
        let known = self.routes.names().chain(aliases).chain(listed);
        let mut text =
            format!("`{model}` is not a route, an alias, a spec or a model of any provider");
        match nearest(model, known) {
            Some(near) => text.push_str(&format!("; did you mean `{near}`?")),
            None => text.push_str(&format!(" ({problem})")),
        }
        Error::new(ErrorKind::ModelNotFound, text)
    }
}

/// Every target named by a route, an alias or a model entry.
fn targets(config: &Config, registry: &Registry, routes: &Routes) -> Vec<String> {
    let mut targets: Vec<String> = routes.targets().collect();
    let aliases = registry.aliases().into_iter().map(|(name, _)| name);
    for name in routes.names().map(str::to_owned).chain(aliases) {
        let chain = match routes.find(&name) {
            Some(route) => route.declared_chain(&name, registry).ok(),
            None => registry.model(&name).ok(),
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

/// The capabilities of a chain's first target.
pub(crate) fn head(chain: &Chain) -> Option<majordomo::Capabilities> {
    let mut described = chain.describe().map(|(_, known)| (*known).clone());
    described.next()
}

fn unknown_model(problem: &SpecError) -> Error {
    Error::new(ErrorKind::ModelNotFound, problem.to_string())
}

/// Lets the vision proxy fetch remote images.
struct VisionFetcher(Fetcher);

impl FetchImage for VisionFetcher {
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, majordomo::Result<Image>> {
        Box::pin(async move {
            let fetched = self.0.fetch(url).await;
            fetched.map_err(|why| Error::new(ErrorKind::Unsupported, why.to_string()))
        })
    }
}

/// The active state, replaced on reload.
pub(crate) type SharedState = Arc<arc_swap::ArcSwap<GatewayState>>;
