//! The registry: providers, aliases and DSN schemes by name.
//!
//! A registry is shared by cloning and may be changed while in use; existing chains do not
//! change. May use every other module.

mod builder;
mod builtin;
mod chain_cache;
mod env;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use majordomo_llm::{BoxFuture, Error, Provider};
use secrecy::{ExposeSecret, SecretString};

pub use builder::RegistryBuilder;
pub use builtin::ollama_url;
use chain_cache::ChainCache;
pub use env::{DsnProblem, LoadEnvError};

use crate::chain::{Chain, ChainConfig, ChainTarget};
use crate::dsn::{Dsn, DsnError, Environment, variable_name};
use crate::health::Health;
use crate::keys::ConversationTables;
use crate::nearest::nearest;
use crate::observe::Observers;
use crate::spec::{Expansion, ExpansionStep, SpecError, TargetName};

/// Creates the provider of this name from a DSN.
pub type SchemeFactory = Arc<dyn Fn(&str, &Dsn) -> Result<Arc<dyn Provider>, Error> + Send + Sync>;

/// Resolves aliases that are not in the registry, for example from a database.
pub trait Resolver: Send + Sync {
    /// The spec of the alias, or `None` if this resolver does not know it.
    fn resolve<'a>(&'a self, alias: &'a str) -> BoxFuture<'a, Result<Option<String>, Error>>;
}

/// Providers, aliases, schemes and their health.
///
/// ```
/// use majordomo::Registry;
/// use majordomo::fake::Fake;
///
/// let registry = Registry::empty();
/// registry.register(Fake::new("fp"));
/// registry.alias("thinking", "fp/deep,fp/wide").unwrap();
/// let chain = registry.model("fp/fast,thinking").unwrap();
/// let names: Vec<_> = chain.targets().map(|name| name.as_str()).collect();
/// assert_eq!(names, ["fp/fast", "fp/deep", "fp/wide"]);
/// ```
#[derive(Clone)]
pub struct Registry {
    shared: Arc<RegistryShared>,
}

struct RegistryShared {
    names: RwLock<RegistryNames>,
    chains: ChainCache,
    environment: Environment,
    health: Health,
    /// The keys that conversations use.
    conversations: ConversationTables,
    chain: Arc<ChainConfig>,
    observers: Observers,
}

#[derive(Clone, Default)]
struct RegistryNames {
    providers: BTreeMap<String, Arc<dyn Provider>>,
    aliases: BTreeMap<String, String>,
    schemes: BTreeMap<String, SchemeFactory>,
    resolvers: Vec<Arc<dyn Resolver>>,
    /// DSNs that were unusable when they were loaded. They are tried again when their provider
    /// is looked up, since its scheme may have been registered in the meantime.
    unusable: BTreeMap<String, SecretString>,
}

impl Registry {
    /// A registry with the built-in providers, with keys from the process environment, and
    /// its `LLM_*` providers. A missing key or a malformed DSN fails only when its provider
    /// is used.
    pub fn from_env() -> Self {
        Self::builder().builtins().build()
    }

    /// A registry without providers that ignores the environment.
    pub fn empty() -> Self {
        Self::builder().environment(BTreeMap::new()).build()
    }

    /// Configures clock, health, chains and environment.
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder::default()
    }

    /// Adds a provider under its name, replacing an earlier one of that name.
    pub fn register(&self, provider: impl Provider + 'static) {
        self.register_arc(Arc::new(provider));
    }

    /// Adds a shared provider.
    pub fn register_arc(&self, provider: Arc<dyn Provider>) {
        let name = provider.name().to_owned();
        let mut names = self.write();
        names.unusable.remove(&name);
        names.providers.insert(name, provider);
    }

    /// Names a spec. The spec is parsed on use, so aliases may be defined in any order.
    pub fn alias(&self, name: &str, spec: &str) -> Result<(), SpecError> {
        let name = name.trim();
        if name.is_empty() || name.contains(['/', ',']) {
            return Err(SpecError::BadAliasName {
                name: name.to_owned(),
            });
        }
        self.write()
            .aliases
            .insert(name.to_owned(), spec.to_owned());
        Ok(())
    }

    /// Registers a DSN scheme.
    pub fn scheme(
        &self,
        scheme: &str,
        factory: impl Fn(&str, &Dsn) -> Result<Arc<dyn Provider>, Error> + Send + Sync + 'static,
    ) {
        self.write()
            .schemes
            .insert(scheme.to_owned(), Arc::new(factory));
    }

    /// Adds a resolver, consulted after the static aliases and earlier resolvers.
    pub fn resolver(&self, resolver: impl Resolver + 'static) {
        self.write().resolvers.push(Arc::new(resolver));
    }

    /// Returns the chain that a spec names. Dynamic aliases need [`Registry::resolve`].
    pub fn model(&self, spec: &str) -> Result<Chain, SpecError> {
        if let Some(chain) = self.shared.chains.get(spec) {
            return Ok(chain);
        }
        let changes = self.shared.chains.changes();
        let mut expansion = Expansion::new(spec)?;
        loop {
            match expansion.step()? {
                ExpansionStep::Done(targets) => {
                    let chain = self.chain(targets)?;
                    self.keep(spec, &chain, changes);
                    return Ok(chain);
                }
                ExpansionStep::Alias(name) => {
                    let known = self.static_alias(&name);
                    let spec = known.ok_or_else(|| self.unknown_alias(&name, true))?;
                    expansion.supply(name, &spec)?;
                }
            }
        }
    }

    /// Returns the chain that a spec names, consulting the resolvers for unknown aliases.
    pub async fn resolve(&self, spec: &str) -> Result<Chain, SpecError> {
        if let Some(chain) = self.shared.chains.get(spec) {
            return Ok(chain);
        }
        let changes = self.shared.chains.changes();
        // What a resolver says now, it need not say next time.
        let mut is_static = true;
        let mut expansion = Expansion::new(spec)?;
        loop {
            match expansion.step()? {
                ExpansionStep::Done(targets) => {
                    let chain = self.chain(targets)?;
                    if is_static {
                        self.keep(spec, &chain, changes);
                    }
                    return Ok(chain);
                }
                ExpansionStep::Alias(name) => {
                    let spec = match self.static_alias(&name) {
                        Some(spec) => spec,
                        None => {
                            is_static = false;
                            self.dynamic_alias(&name).await?
                        }
                    };
                    expansion.supply(name, &spec)?;
                }
            }
        }
    }

    /// The health of the targets and credentials used through this registry.
    pub fn health(&self) -> &Health {
        &self.shared.health
    }

    /// Forgets the health of providers that are gone or whose address or key has changed;
    /// they start healthy.
    pub fn forget_changed_providers(&self) {
        // Providers may be foreign code: they are called without our lock.
        let providers = self.read().providers.clone();
        let health = &self.shared.health;
        health.forget_changed(|provider, key| {
            let provider = providers.get(provider)?;
            match key {
                Some(number) => provider.by_key().get(number.checked_sub(1)?)?.fingerprint(),
                None => provider.fingerprint(),
            }
        });
        // Chains that are kept hold on to the health that they were built with.
        drop(self.write());
    }

    /// The names of the registered providers.
    pub fn providers(&self) -> Vec<String> {
        self.read().providers.keys().cloned().collect()
    }

    /// The environment's unusable providers, with the reasons.
    pub fn unusable(&self) -> Vec<SpecError> {
        let names: Vec<String> = self.read().unusable.keys().cloned().collect();
        let problem = |name: String| self.provider(&name).err();
        names.into_iter().filter_map(problem).collect()
    }

    /// The static aliases and their specs.
    pub fn aliases(&self) -> Vec<(String, String)> {
        let names = self.read();
        let pairs = names.aliases.iter();
        pairs
            .map(|(name, spec)| (name.clone(), spec.clone()))
            .collect()
    }

    /// A provider by name, registered or newly found in the environment.
    pub fn provider(&self, name: &str) -> Result<Arc<dyn Provider>, SpecError> {
        let names = self.read();
        if let Some(provider) = names.providers.get(name) {
            return Ok(Arc::clone(provider));
        }
        let unusable = names.unusable.get(name).cloned();
        drop(names);
        let variable = variable_name(name);
        let loaded = unusable.or_else(|| self.shared.environment.get(&variable).map(Into::into));
        let Some(text) = loaded else {
            let names = self.read();
            let known = names.providers.keys().map(String::as_str);
            return Err(SpecError::UnknownProvider {
                nearest: nearest(name, known).map(str::to_owned),
                name: name.to_owned(),
                variable,
            });
        };
        let provider = self
            .provider_from_dsn(name, text.expose_secret())
            .map_err(|cause| bad_dsn(name, cause))?;
        let mut names = self.write();
        names.unusable.remove(name);
        names
            .providers
            .insert(name.to_owned(), Arc::clone(&provider));
        Ok(provider)
    }

    fn chain(&self, targets: Vec<TargetName>) -> Result<Chain, SpecError> {
        let targets: Result<Vec<ChainTarget>, SpecError> = targets
            .into_iter()
            .map(|name| {
                let provider = self.provider(name.provider())?;
                let shared = &self.shared;
                ChainTarget::new(name, &*provider, &shared.health, &shared.conversations).map_err(
                    |error| SpecError::Model {
                        reason: error.report(),
                    },
                )
            })
            .collect();
        Ok(Chain::new(
            targets?,
            Arc::clone(&self.shared.chain),
            self.shared.observers.clone(),
        ))
    }

    /// Keeps the chain of a spec, unless the registry changed while it was built.
    fn keep(&self, spec: &str, chain: &Chain, changes: u64) {
        let names = self.read();
        self.shared.chains.keep(spec, chain, changes);
        drop(names);
    }

    fn static_alias(&self, name: &str) -> Option<String> {
        self.read().aliases.get(name).cloned()
    }

    /// Consults the resolvers without holding a lock, because they do I/O.
    async fn dynamic_alias(&self, name: &str) -> Result<String, SpecError> {
        let resolvers = self.read().resolvers.clone();
        for resolver in resolvers {
            let resolved = resolver.resolve(name).await;
            let resolved = resolved.map_err(|error| SpecError::Resolver {
                name: name.to_owned(),
                reason: error.report(),
            })?;
            if let Some(spec) = resolved {
                return Ok(spec);
            }
        }
        Err(self.unknown_alias(name, false))
    }

    fn unknown_alias(&self, name: &str, resolvers_may_know: bool) -> SpecError {
        let names = self.read();
        if resolvers_may_know && !names.resolvers.is_empty() {
            return SpecError::NeedsResolver {
                name: name.to_owned(),
            };
        }
        let known = names.aliases.keys().map(String::as_str);
        SpecError::UnknownAlias {
            nearest: nearest(name, known).map(str::to_owned),
            name: name.to_owned(),
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, RegistryNames> {
        let names = self.shared.names.read();
        names.unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the names; no chain outlives that.
    fn write(&self) -> RwLockWriteGuard<'_, RegistryNames> {
        let names = self.shared.names.write();
        self.shared.chains.drop_all();
        names.unwrap_or_else(PoisonError::into_inner)
    }
}

fn bad_dsn(name: &str, cause: DsnError) -> SpecError {
    SpecError::BadDsn {
        name: name.to_owned(),
        cause,
    }
}
