//! Builds the registry of a configuration's providers and aliases.

use std::collections::BTreeMap;
use std::sync::Arc;

use majordomo::chain::ChainConfig;
use majordomo::dsn::SecretString;
use majordomo::providers::{ProviderKind, Settings};
use majordomo::registry::RegistryBuilder;
use majordomo::transport::Transport;
use majordomo::{Capabilities, Error, Provider, Registry};

use super::{
    Config, DeclaredKind, Diagnostic, Diagnostics, ModelEntry, ProviderEntry, ProviderSource,
};
use crate::demo::Demo;

impl Config {
    /// The `[chain]` settings, with the library's default shapes.
    pub fn chain_config(&self) -> ChainConfig {
        ChainConfig::default()
            .with_retries(self.chain.retries)
            .with_advance_on_permanent(self.chain.advance_on_permanent)
            .with_all_benched(self.chain.all_benched)
            .with_max_retry_after(self.chain.max_retry_after)
            .with_deadline(self.chain.deadline)
    }

    /// Builds a registry with the built-in providers and their keys from the environment,
    /// the `LLM_*` providers, the providers and aliases of this file, and the demo if it
    /// is available. `change` receives the builder with the file's health and chain
    /// settings, and may add observers and shapes.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use majordomo::transport::{TransportConfig as Client, Transport};
    /// use majordomo_gateway::config::Config;
    ///
    /// let text = "[aliases]\nfast = \"demo/text\"";
    /// let environment = BTreeMap::new();
    /// let config = Config::parse("majordomo.toml", text, &environment).unwrap();
    /// let transport = Transport::new(Client::default());
    /// let registry = config.registry(&environment, &transport, |builder| builder).unwrap();
    /// assert!(registry.model("fast").is_ok());
    /// ```
    pub fn registry(
        &self,
        environment: &BTreeMap<String, String>,
        transport: &Transport,
        change: impl FnOnce(RegistryBuilder) -> RegistryBuilder,
    ) -> Result<Registry, Diagnostics> {
        let builder = Registry::builder()
            .environment(environment.clone())
            .transport(transport.clone())
            .builtins()
            .health(self.health.clone())
            .chain(self.chain_config());
        let registry = change(builder).build();
        if self.has_demo() {
            registry.register(Demo::new(super::providers::DEMO));
        }
        let mut diagnostics = Vec::new();
        for provider in &self.providers {
            match make(provider, environment, transport) {
                Ok(made) => registry.register_arc(made),
                Err(error) => {
                    let message = format!("[providers.{}] cannot be used", provider.name);
                    diagnostics.push(Diagnostic::at(
                        provider.span.clone(),
                        message,
                        error.reason(),
                    ));
                }
            }
        }
        for alias in &self.aliases {
            if let Err(error) = registry.alias(&alias.name, &alias.spec.text) {
                let hint = "choose another name";
                diagnostics.push(Diagnostic::at(
                    alias.spec.span.clone(),
                    error.to_string(),
                    hint,
                ));
            }
        }
        if diagnostics.is_empty() {
            Ok(registry)
        } else {
            Err(self.diagnostics(diagnostics))
        }
    }
}

fn make(
    provider: &ProviderEntry,
    environment: &BTreeMap<String, String>,
    transport: &Transport,
) -> Result<Arc<dyn Provider>, Error> {
    let settings = |base_url: &Option<String>, key: &Option<SecretString>, variables| {
        let mut settings = Settings::new(&provider.name, transport.clone());
        settings.base_url = base_url.clone();
        // A key from the environment is only sent to the default address.
        settings.key = match (key, base_url) {
            (None, None) => key_in(environment, variables),
            (key, _) => key.clone(),
        };
        provider.options.apply(settings)
    };
    match &provider.origin {
        ProviderSource::Declared {
            kind: DeclaredKind::Demo,
            ..
        } => Ok(Arc::new(demo(provider)?)),
        ProviderSource::Declared {
            kind: DeclaredKind::Wire(kind),
            base_url,
            api_key,
        } => {
            let mut settings = settings(base_url, api_key, kind.key_variables());
            if *kind == ProviderKind::Ollama && base_url.is_none() {
                let host = environment.get("OLLAMA_HOST");
                settings.base_url = host.map(|host| majordomo::registry::ollama_url(host));
            }
            corrected(settings, &provider.models, |settings| {
                kind.provider(settings)
            })
        }
        ProviderSource::Declared {
            kind: DeclaredKind::Service(service),
            base_url,
            api_key,
        } => {
            let settings = settings(base_url, api_key, service.key_variables);
            corrected(settings, &provider.models, |settings| {
                service.provider(settings)
            })
        }
        ProviderSource::Dsn(dsn) => {
            let settings = dsn.settings(&provider.name, transport);
            let settings = provider.options.apply(settings);
            let kind = dsn.kind().unwrap_or(ProviderKind::OpenAi);
            corrected(settings, &provider.models, |settings| {
                kind.provider(settings)
            })
        }
    }
}

fn key_in(environment: &BTreeMap<String, String>, variables: &[&str]) -> Option<SecretString> {
    let mut keys = variables.iter().filter_map(|name| environment.get(*name));
    let key = keys.find(|key| !key.trim().is_empty())?;
    Some(SecretString::from(key.clone()))
}

/// Builds a provider whose defaults are overridden for the models in the file.
fn corrected<P: Provider + 'static>(
    mut settings: Settings,
    entries: &[ModelEntry],
    make: impl Fn(Settings) -> Result<P, Error>,
) -> Result<Arc<dyn Provider>, Error> {
    let plain = make(settings.clone())?;
    settings.models = corrections(&plain, entries)?;
    if settings.models.is_empty() {
        return Ok(Arc::new(plain));
    }
    Ok(Arc::new(make(settings)?))
}

fn demo(provider: &ProviderEntry) -> Result<Demo, Error> {
    let plain = Demo::new(&provider.name);
    let models = corrections(&plain, &provider.models)?;
    Ok(plain.with_models(models))
}

/// Capabilities of each listed model: the provider's defaults with the overrides applied.
fn corrections(
    provider: &dyn Provider,
    entries: &[ModelEntry],
) -> Result<BTreeMap<String, Capabilities>, Error> {
    let entries = entries.iter().filter(|entry| entry.corrects_capabilities());
    let correct = |entry: &ModelEntry| {
        let mut capabilities = (*provider.model(&entry.id)?.capabilities()).clone();
        entry.apply(&mut capabilities);
        Ok((entry.id.clone(), capabilities))
    };
    entries.map(correct).collect()
}
