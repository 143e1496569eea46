//! The providers and aliases of a file, ready to be asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use majordomo::transport::Transport;
use majordomo::{
    Capabilities, ChainConfig, Error, Provider as Answers, ProviderKind, Registry, RegistryBuilder,
    SecretString, Settings,
};

use super::{Config, DeclaredKind, ModelEntry, Origin, Problem, Problems, Provider};
use crate::demo::Demo;

impl Config {
    /// The chain's switches, with the library's own shapes.
    pub fn chain_config(&self) -> ChainConfig {
        ChainConfig {
            retries: self.chain.retries,
            advance_on_permanent: self.chain.advance_on_permanent,
            all_benched: self.chain.all_benched,
            deadline: self.chain.deadline,
            ..ChainConfig::default()
        }
    }

    /// A registry of the built-in providers with their keys from the environment,
    /// its `LLM_*` providers, what this file says, and the demo unless the file
    /// names providers and not that one. The builder comes with the file's rules
    /// for health and chains and may be changed before it is used: observers,
    /// shapes.
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
    /// assert!(registry.parse("fast").is_ok());
    /// ```
    pub fn registry(
        &self,
        environment: &BTreeMap<String, String>,
        transport: &Transport,
        change: impl FnOnce(RegistryBuilder) -> RegistryBuilder,
    ) -> Result<Registry, Problems> {
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
        let mut problems = Vec::new();
        for provider in &self.providers {
            match make(provider, environment, transport) {
                Ok(made) => registry.register_arc(made),
                Err(error) => {
                    let message = format!("[providers.{}] cannot be used", provider.name);
                    problems.push(Problem::at(provider.span.clone(), message, error.reason()));
                }
            }
        }
        for alias in &self.aliases {
            if let Err(error) = registry.alias(&alias.name, &alias.spec.text) {
                let hint = "choose another name";
                problems.push(Problem::at(
                    alias.spec.span.clone(),
                    error.to_string(),
                    hint,
                ));
            }
        }
        if problems.is_empty() {
            Ok(registry)
        } else {
            Err(self.problems(problems))
        }
    }
}

fn make(
    provider: &Provider,
    environment: &BTreeMap<String, String>,
    transport: &Transport,
) -> Result<Arc<dyn Answers>, Error> {
    let settings = |base_url: &Option<String>, key: &Option<SecretString>, variables| Settings {
        base_url: base_url.clone(),
        // A key of the environment goes to the address that it is for, only.
        key: match (key, base_url) {
            (None, None) => key_in(environment, variables),
            (key, _) => key.clone(),
        },
        ..Settings::new(&provider.name, transport.clone())
    };
    match &provider.origin {
        Origin::Declared {
            kind: DeclaredKind::Demo,
            ..
        } => Ok(Arc::new(demo(provider)?)),
        Origin::Declared {
            kind: DeclaredKind::Wire(kind),
            base_url,
            api_key,
        } => {
            let mut settings = settings(base_url, api_key, kind.key_variables());
            if *kind == ProviderKind::Ollama && base_url.is_none() {
                let host = environment.get("OLLAMA_HOST");
                settings.base_url = host.map(|host| majordomo::ollama_url(host));
            }
            corrected(settings, &provider.models, |settings| {
                kind.provider(settings)
            })
        }
        Origin::Declared {
            kind: DeclaredKind::Service(service),
            base_url,
            api_key,
        } => {
            let settings = settings(base_url, api_key, service.key_variables);
            corrected(settings, &provider.models, |settings| {
                service.provider(settings)
            })
        }
        Origin::Dsn(dsn) => {
            let settings = dsn.settings(&provider.name, transport);
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

/// A provider whose defaults were corrected for the models that the file names.
fn corrected<P: Answers + 'static>(
    mut settings: Settings,
    entries: &[ModelEntry],
    make: impl Fn(Settings) -> Result<P, Error>,
) -> Result<Arc<dyn Answers>, Error> {
    let plain = make(settings.clone())?;
    settings.models = corrections(&plain, entries)?;
    if settings.models.is_empty() {
        return Ok(Arc::new(plain));
    }
    Ok(Arc::new(make(settings)?))
}

fn demo(provider: &Provider) -> Result<Demo, Error> {
    let plain = Demo::new(&provider.name);
    let models = corrections(&plain, &provider.models)?;
    Ok(plain.with_models(models))
}

/// What each named model takes: what the provider assumes, corrected.
fn corrections(
    provider: &dyn Answers,
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
