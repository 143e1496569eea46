//! `majordomo models`: what can be asked for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use majordomo::{Error, ErrorKind, ModelInfo, Provider, Registry, Timer};
use tokio::task::JoinSet;

use crate::failure::Failure;
use crate::{paint, takes};

/// A list is short and somebody waits for it.
const PATIENCE: Duration = Duration::from_secs(4);

pub(crate) async fn run() -> Result<(), Failure> {
    let registry = Registry::from_env();
    let mut rows = Vec::new();
    let mut absent = Absent::default();
    for (provider, listed) in ask_all(&registry).await {
        match listed {
            Ok(models) => rows.extend(models.iter().map(|model| row(&*provider, model))),
            Err(error) => absent.add(provider.name(), &error),
        }
    }
    absent.tell(&registry);
    if rows.is_empty() {
        return Err(Failure::new(
            "nothing can be asked: set a provider's key (OPENAI_API_KEY, say), \
             add a server with LLM_<NAME>=scheme://[token@]host, or start an Ollama on this machine",
        ));
    }
    let [images, tools, schemas, context] = takes::HEADINGS;
    paint::table(["MODEL", images, tools, schemas, context], &rows)
}

type Listed = (Arc<dyn Provider>, Result<Vec<ModelInfo>, Error>);

/// Asks everybody at the same time; the answers are in the order of their names.
async fn ask_all(registry: &Registry) -> Vec<Listed> {
    let mut asking = JoinSet::new();
    for name in registry.providers() {
        let Ok(provider) = registry.provider(&name) else {
            continue;
        };
        asking.spawn(async move {
            let listed = match provider.ready() {
                Ok(()) => in_time(&*provider).await,
                Err(error) => Err(error),
            };
            (name, (provider, listed))
        });
    }
    let answers: BTreeMap<String, Listed> = asking.join_all().await.into_iter().collect();
    answers.into_values().collect()
}

async fn in_time(provider: &dyn Provider) -> Result<Vec<ModelInfo>, Error> {
    let listed = tokio::time::timeout(PATIENCE, provider.models()).await;
    listed.unwrap_or_else(|_| {
        let text = format!("no answer within {} s", PATIENCE.as_secs());
        Err(Error::new(ErrorKind::Timeout(Timer::Total), text))
    })
}

/// What the server says about the model, else what is assumed of it.
fn row(provider: &dyn Provider, model: &ModelInfo) -> [String; 5] {
    let assumed = || provider.model(&model.id).map(|it| it.capabilities());
    let takes = match &model.capabilities {
        Some(known) => known.clone(),
        None => assumed().map(|it| (*it).clone()).unwrap_or_default(),
    };
    let [images, tools, schemas, context] = takes::cells(&takes);
    let name = format!("{}/{}", provider.name(), model.id);
    [name, images, tools, schemas, context]
}

/// Providers without a list, by what is the matter with them.
#[derive(Default)]
struct Absent {
    without_key: Vec<String>,
    unreachable: Vec<String>,
    failed: Vec<String>,
}

impl Absent {
    fn add(&mut self, name: &str, error: &Error) {
        match error.kind() {
            ErrorKind::MissingKey => self.without_key.push(name.to_owned()),
            ErrorKind::Connect | ErrorKind::Dns | ErrorKind::Timeout(_) => {
                self.unreachable.push(name.to_owned());
            }
            // Kinds without an address of their own are only there for DSNs.
            ErrorKind::Spec => {}
            _ => self.failed.push(format!("{name}: {}", error.reason())),
        }
    }

    fn tell(&self, registry: &Registry) {
        for line in &self.failed {
            paint::note(line);
        }
        for problem in registry.unusable() {
            paint::note(&problem.to_string());
        }
        for (what, names) in [
            ("not reachable", &self.unreachable),
            ("no key", &self.without_key),
        ] {
            if !names.is_empty() {
                paint::note(&format!("{what}: {}", names.join(", ")));
            }
        }
    }
}
