//! `majordomo models`: lists the available models.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use majordomo::llm::{ModelInfo, Timer};
use majordomo::{Error, ErrorKind, Provider, Registry};
use tokio::task::JoinSet;

use crate::error::CliError;
use crate::setup::{ConfigArg, Setup};
use crate::{capabilities, output};

/// Timeout for listing models, while the user waits.
const LIST_TIMEOUT: Duration = Duration::from_secs(4);

pub(crate) async fn run(args: &ConfigArg) -> Result<(), CliError> {
    let state = Setup::load(args.config.as_deref())?.state;
    let registry = state.registry();
    let named = state.named_models();
    let mut rows: Vec<[String; 5]> = named.iter().map(named_row).collect();
    let mut absent = Absent::default();
    for (provider, listed) in list_all(registry).await {
        match listed {
            Ok(models) => rows.extend(models.iter().map(|model| row(&*provider, model))),
            Err(error) => {
                let name = provider.name();
                absent.add(name, &error, state.is_configured(name));
            }
        }
    }
    absent.print(registry);
    if rows.is_empty() {
        return Err(CliError::new(
            "no models available: set a provider's key (such as OPENAI_API_KEY), \
             add a server with LLM_<NAME>=scheme://[token@]host, or start a local Ollama",
        ));
    }
    let [images, tools, schemas, context] = capabilities::HEADINGS;
    output::table(["MODEL", images, tools, schemas, context], &rows)
}

type Listed = (Arc<dyn Provider>, Result<Vec<ModelInfo>, Error>);

/// Lists the models of all providers concurrently, sorted by provider.
async fn list_all(registry: &Registry) -> Vec<Listed> {
    let mut listing = JoinSet::new();
    for name in registry.providers() {
        let Ok(provider) = registry.provider(&name) else {
            continue;
        };
        listing.spawn(async move {
            let listed = match provider.ready() {
                Ok(()) => in_time(&*provider).await,
                Err(error) => Err(error),
            };
            (name, (provider, listed))
        });
    }
    let lists: BTreeMap<String, Listed> = listing.join_all().await.into_iter().collect();
    lists.into_values().collect()
}

async fn in_time(provider: &dyn Provider) -> Result<Vec<ModelInfo>, Error> {
    let listed = tokio::time::timeout(LIST_TIMEOUT, provider.models()).await;
    listed.unwrap_or_else(|_| {
        let text = format!("no response within {} s", LIST_TIMEOUT.as_secs());
        Err(Error::new(ErrorKind::Timeout(Timer::Total), text))
    })
}

/// A route or an alias, with the capabilities of its first target.
fn named_row(model: &ModelInfo) -> [String; 5] {
    let takes = model.capabilities.clone().unwrap_or_default();
    let [images, tools, schemas, context] = capabilities::cells(&takes);
    [model.id.clone(), images, tools, schemas, context]
}

/// A model with the capabilities that the server reports, or else the assumed ones.
fn row(provider: &dyn Provider, model: &ModelInfo) -> [String; 5] {
    let assumed = || provider.model(&model.id).map(|it| it.capabilities());
    let takes = match &model.capabilities {
        Some(known) => known.clone(),
        None => assumed().map(|it| (*it).clone()).unwrap_or_default(),
    };
    let [images, tools, schemas, context] = capabilities::cells(&takes);
    let name = format!("{}/{}", provider.name(), model.id);
    [name, images, tools, schemas, context]
}

/// Providers without a model list, by reason.
#[derive(Default)]
struct Absent {
    without_key: Vec<String>,
    unreachable: Vec<String>,
    failed: Vec<String>,
}

impl Absent {
    fn add(&mut self, name: &str, error: &Error, configured: bool) {
        let failed = || format!("{name}: the model list failed to load: {}", error.reason());
        match error.kind() {
            // The user expects the models of a provider that they set up.
            _ if configured => self.failed.push(failed()),
            ErrorKind::MissingKey => self.without_key.push(name.to_owned()),
            ErrorKind::Connect | ErrorKind::Dns | ErrorKind::Timeout(_) => {
                self.unreachable.push(name.to_owned());
            }
            // Kinds without a default address exist for DSNs only.
            ErrorKind::Spec => {}
            _ => self.failed.push(failed()),
        }
    }

    fn print(&self, registry: &Registry) {
        for line in &self.failed {
            output::note(line);
        }
        for problem in registry.unusable() {
            output::note(&problem.to_string());
        }
        for (what, names) in [
            ("unreachable", &self.unreachable),
            ("no key", &self.without_key),
        ] {
            if !names.is_empty() {
                output::note(&format!("{what}: {}", names.join(", ")));
            }
        }
    }
}
