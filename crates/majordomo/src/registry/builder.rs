//! Builds a registry.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use majordomo_llm::{Error, Provider};
use majordomo_providers::transport::{Transport, TransportConfig};

use super::{Registry, RegistryNames, RegistryShared, SchemeFactory, builtin};
use crate::chain::ChainConfig;
use crate::clock::{Clock, RuntimeClock};
use crate::dsn::{Dsn, Environment};
use crate::health::{Health, HealthConfig};
use crate::keys::ConversationTables;
use crate::observe::{Observer, Observers};

/// Builds a [`Registry`].
///
/// ```
/// use std::{collections::BTreeMap, sync::Arc};
/// use majordomo::chain::ChainConfig;
/// use majordomo::clock::ManualClock;
/// use majordomo::Registry;
///
/// let registry = Registry::builder()
///     .environment(BTreeMap::new())
///     .clock(Arc::new(ManualClock::new()))
///     .chain(ChainConfig::default().with_retries(0))
///     .build();
/// assert!(registry.providers().is_empty());
/// ```
#[derive(Default)]
pub struct RegistryBuilder {
    environment: Environment,
    clock: Option<Arc<dyn Clock>>,
    health: HealthConfig,
    /// Health inherited from an earlier registry.
    inherited: Option<Health>,
    conversations: ConversationTables,
    chain: ChainConfig,
    observers: Observers,
    names: RegistryNames,
    transport: Option<Transport>,
    builtins: bool,
}

impl RegistryBuilder {
    /// Reads these variables instead of the process environment. DSNs among them need
    /// their schemes: [`builtins`](Self::builtins) or [`scheme`](Self::scheme).
    #[must_use]
    pub fn environment(mut self, variables: BTreeMap<String, String>) -> Self {
        self.environment = Environment::Fixed(variables);
        self
    }

    /// Adds the built-in providers, with keys from the environment, and their DSN schemes.
    #[must_use]
    pub fn builtins(mut self) -> Self {
        self.builtins = true;
        self
    }

    /// Sends requests through this transport.
    #[must_use]
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = Some(transport);
        self
    }

    /// Measures benches with this clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Configures benches.
    #[must_use]
    pub fn health(mut self, config: HealthConfig) -> Self {
        self.health = config;
        self
    }

    /// Inherits the health of an earlier registry, with its configuration and clock, so that a
    /// reload keeps benches. Providers whose address or key has changed start healthy; see
    /// [`Registry::forget_changed_providers`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use majordomo::Registry;
    ///
    /// let earlier = Registry::empty();
    /// earlier.health().bench("p/m", Duration::from_secs(60), "maintenance");
    /// let registry = Registry::builder().inheriting_health(&earlier).build();
    /// assert_eq!(registry.health().snapshot().len(), 1);
    /// ```
    #[must_use]
    pub fn inheriting_health(mut self, earlier: &Registry) -> Self {
        self.inherited = Some(earlier.health().fork());
        self.conversations = earlier.shared.conversations.clone();
        self
    }

    /// Configures chains.
    #[must_use]
    pub fn chain(mut self, config: ChainConfig) -> Self {
        self.chain = config;
        self
    }

    /// Notifies an observer of attempts, skips, benches and recoveries.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observers.add(observer);
        self
    }

    /// Registers a DSN scheme before the environment is read.
    #[must_use]
    pub fn scheme(
        mut self,
        scheme: &str,
        factory: impl Fn(&str, &Dsn) -> Result<Arc<dyn Provider>, Error> + Send + Sync + 'static,
    ) -> Self {
        let factory: SchemeFactory = Arc::new(factory);
        self.names.schemes.insert(scheme.to_owned(), factory);
        self
    }

    /// Builds the registry and reads the environment. A malformed DSN fails only on use.
    pub fn build(self) -> Registry {
        let clock = self.clock.unwrap_or_else(|| Arc::new(RuntimeClock));
        let health = self
            .inherited
            .unwrap_or_else(|| Health::with_observers(self.health, clock, self.observers.clone()));
        let variables = self.environment.all();
        let mut names = self.names;
        if self.builtins {
            let transport = self.transport;
            let transport = transport.unwrap_or_else(|| Transport::new(TransportConfig::default()));
            builtin::add_schemes(&mut names, &transport);
            builtin::add_providers(&mut names, &transport, &self.environment);
        }
        let registry = Registry {
            shared: Arc::new(RegistryShared {
                names: RwLock::new(names),
                chains: Default::default(),
                environment: self.environment,
                health,
                conversations: self.conversations,
                chain: Arc::new(self.chain),
                observers: self.observers,
            }),
        };
        if let Err(problems) = registry.load_env(&variables) {
            tracing::warn!(%problems, "some providers of the environment are unusable");
        }
        registry
    }
}
