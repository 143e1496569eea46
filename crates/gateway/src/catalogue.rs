//! The models that providers say they have, remembered for a while.
//!
//! Asked for when somebody needs them, all providers at once, each with little
//! patience: one that does not answer is asked again soon and delays nobody.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use majordomo::{ModelInfo, Provider, Registry};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout};

/// How long a list is believed.
const FRESH: Duration = Duration::from_secs(300);
/// How long a provider that did not answer is left alone.
const SULKING: Duration = Duration::from_secs(15);
/// How long a provider may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// The lists of some providers, in their order.
pub(crate) struct Catalogue {
    registry: Registry,
    providers: Vec<String>,
    lists: Mutex<HashMap<String, Entry>>,
}

/// A list that is there, or on its way.
#[derive(Clone)]
struct Entry {
    asked: Instant,
    list: Arc<OnceCell<Option<Arc<[ModelInfo]>>>>,
}

impl Catalogue {
    pub(crate) fn new(registry: Registry, providers: Vec<String>) -> Self {
        Self {
            registry,
            providers,
            lists: Mutex::default(),
        }
    }

    /// The first provider whose list has this id.
    pub(crate) async fn find(&self, id: &str) -> Option<String> {
        let lists = self.all().await;
        let has = |list: &[ModelInfo]| list.iter().any(|model| model.id == id);
        let found = lists.iter().find(|(_, list)| has(list));
        found.map(|(provider, _)| format!("{provider}/{id}"))
    }

    /// The first provider whose list has this id, among the lists that are there.
    pub(crate) fn known(&self, id: &str) -> Option<String> {
        let lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let mut providers = self.providers.iter();
        let found = providers.find(|name| {
            let list = lists.get(*name).and_then(|entry| entry.list.get());
            let models = list.into_iter().flatten().flat_map(|list| list.iter());
            models.into_iter().any(|model| model.id == id)
        });
        found.map(|provider| format!("{provider}/{id}"))
    }

    /// Every list that could be had.
    pub(crate) async fn all(&self) -> Vec<(String, Arc<[ModelInfo]>)> {
        let lists = join_all(self.providers.iter().map(|name| self.list(name))).await;
        let named = self.providers.iter().cloned().zip(lists);
        named
            .filter_map(|(name, list)| Some((name, list?)))
            .collect()
    }

    async fn list(&self, name: &str) -> Option<Arc<[ModelInfo]>> {
        let provider = self.registry.provider(name).ok()?;
        provider.ready().ok()?;
        let cell = self.cell(name);
        cell.get_or_init(|| ask(provider)).await.clone()
    }

    /// What is known of a provider, or a place for it; everybody who asks
    /// meanwhile waits for the same answer.
    fn cell(&self, name: &str) -> Arc<OnceCell<Option<Arc<[ModelInfo]>>>> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = lists.get(name) {
            let age = match entry.list.get() {
                Some(None) => SULKING,
                _ => FRESH,
            };
            if entry.asked.elapsed() < age {
                return Arc::clone(&entry.list);
            }
        }
        let entry = Entry {
            asked: Instant::now(),
            list: Arc::default(),
        };
        lists.insert(name.to_owned(), entry.clone());
        entry.list
    }
}

async fn ask(provider: Arc<dyn Provider>) -> Option<Arc<[ModelInfo]>> {
    match timeout(PATIENCE, provider.models()).await {
        Ok(Ok(models)) => Some(models.into()),
        Ok(Err(error)) => {
            tracing::debug!(reason = %error, "a provider does not list its models");
            None
        }
        Err(_) => None,
    }
}
