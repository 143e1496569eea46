//! Detects providers that work without a configuration file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use majordomo::Registry;
use majordomo::providers::{Compatible, ProviderKind};

use super::Config;
use super::providers::DEMO;
use super::specs::provider_variables;

/// Timeout for listing the models of a local Ollama.
const OLLAMA_TIMEOUT: Duration = Duration::from_millis(500);

/// Providers found in the environment and on this machine. `Display` prints a short
/// summary that never contains a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Detected {
    /// Built-in providers whose key is set.
    pub keys: Vec<DetectedKey>,
    /// Providers defined by `LLM_*` variables.
    pub dsns: Vec<DetectedDsn>,
    /// The models of a local Ollama, if it responds.
    pub ollama: Option<Vec<String>>,
}

/// A built-in provider whose key is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedKey {
    /// The provider's name.
    pub provider: String,
    /// The variable that holds the key.
    pub variable: String,
}

/// A provider defined by an `LLM_*` variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedDsn {
    /// The provider's name.
    pub provider: String,
    /// The variable.
    pub variable: String,
    /// Why the provider is unusable, if it is.
    pub problem: Option<String>,
}

/// Inspects the environment and lists the models of the registry's Ollama.
pub async fn autodetect(registry: &Registry, environment: &BTreeMap<String, String>) -> Detected {
    Detected {
        keys: keys(environment),
        dsns: dsns(registry, environment),
        ollama: ollama(registry).await,
    }
}

fn keys(environment: &BTreeMap<String, String>) -> Vec<DetectedKey> {
    let kinds = ProviderKind::ALL
        .into_iter()
        .map(|kind| (kind.as_str(), kind.key_variables()));
    let services = Compatible::ALL
        .iter()
        .map(|service| (service.name, service.key_variables));
    let set = |variable: &&&str| {
        environment
            .get(**variable)
            .is_some_and(|key| !key.trim().is_empty())
    };
    let found = |(provider, variables): (&str, &'static [&'static str])| {
        let variable = variables.iter().find(set)?;
        Some(DetectedKey {
            provider: provider.to_owned(),
            variable: (*variable).to_owned(),
        })
    };
    kinds.chain(services).filter_map(found).collect()
}

fn dsns(registry: &Registry, environment: &BTreeMap<String, String>) -> Vec<DetectedDsn> {
    let found = |(provider, variable): (String, &str)| DetectedDsn {
        problem: registry
            .provider(&provider)
            .err()
            .map(|error| error.to_string()),
        variable: variable.to_owned(),
        provider,
    };
    provider_variables(environment).map(found).collect()
}

async fn ollama(registry: &Registry) -> Option<Vec<String>> {
    let provider = registry.provider(ProviderKind::Ollama.as_str()).ok()?;
    let models = tokio::time::timeout(OLLAMA_TIMEOUT, provider.models())
        .await
        .ok()?
        .ok()?;
    Some(models.into_iter().map(|model| model.id).collect())
}

impl Config {
    /// The providers whose model lists are searched for a bare model name, in order: from the
    /// file, detected ones, then the demo if it is available.
    pub fn lookup_order(&self, found: &Detected) -> Vec<String> {
        let own = self.providers.iter().map(|provider| provider.name.clone());
        let mut order: Vec<String> = Vec::new();
        let demo = self.has_demo().then(|| DEMO.to_owned());
        for name in own.chain(found.providers()).chain(demo) {
            if !order.contains(&name) {
                order.push(name);
            }
        }
        order
    }

    /// The providers that the user set up: from the file, and with a key or DSN in the
    /// environment.
    pub(crate) fn configured_providers(
        &self,
        environment: &BTreeMap<String, String>,
    ) -> BTreeSet<String> {
        let own = self.providers.iter().map(|provider| provider.name.clone());
        let keys = keys(environment).into_iter().map(|key| key.provider);
        let dsns = provider_variables(environment).map(|(name, _)| name);
        own.chain(keys).chain(dsns).collect()
    }
}

impl Detected {
    /// The names of all usable providers.
    pub fn providers(&self) -> Vec<String> {
        let keys = self.keys.iter().map(|key| key.provider.clone());
        let dsns = self.dsns.iter().filter(|dsn| dsn.problem.is_none());
        let dsns = dsns.map(|dsn| dsn.provider.clone());
        let ollama = self
            .ollama
            .iter()
            .map(|_| ProviderKind::Ollama.as_str().to_owned());
        keys.chain(dsns).chain(ollama).collect()
    }
}

impl fmt::Display for Detected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for key in &self.keys {
            writeln!(f, "{}: key from {}", key.provider, key.variable)?;
        }
        for dsn in &self.dsns {
            match &dsn.problem {
                None => writeln!(f, "{}: from {}", dsn.provider, dsn.variable)?,
                Some(problem) => writeln!(f, "{}: {problem}", dsn.variable)?,
            }
        }
        if let Some(models) = &self.ollama {
            let plural = if models.len() == 1 { "" } else { "s" };
            writeln!(
                f,
                "ollama: on this machine, with {} model{plural}",
                models.len()
            )?;
        }
        Ok(())
    }
}
