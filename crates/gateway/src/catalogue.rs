//! Cached lists of the providers' models.
//!
//! Lists are requested on demand, from all providers concurrently with a short timeout: a
//! provider that does not respond is retried soon and delays no request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use majordomo::llm::ModelInfo;
use majordomo::{Provider, Registry};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout};

/// Lifetime of a list.
const LIST_TTL: Duration = Duration::from_secs(300);
/// Time until a failed request is retried.
const RETRY_AFTER: Duration = Duration::from_secs(15);
/// Timeout for one provider.
const LIST_TIMEOUT: Duration = Duration::from_secs(3);

/// The model lists of some providers, in order.
pub(crate) struct ModelCatalogue {
    registry: Registry,
    providers: Vec<String>,
    lists: Mutex<HashMap<String, CachedList>>,
}

/// A list that is present or being requested.
#[derive(Clone)]
struct CachedList {
    requested_at: Instant,
    list: Arc<OnceCell<Option<Arc<[ModelInfo]>>>>,
}

impl ModelCatalogue {
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

    /// The first provider whose list is present and has this id.
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

    /// All lists that are available, requested if necessary.
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
        cell.get_or_init(|| request_list(provider)).await.clone()
    }

    /// The cached list of a provider; concurrent callers share one request.
    fn cell(&self, name: &str) -> Arc<OnceCell<Option<Arc<[ModelInfo]>>>> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = lists.get(name) {
            let age = match entry.list.get() {
                Some(None) => RETRY_AFTER,
                _ => LIST_TTL,
            };
            if entry.requested_at.elapsed() < age {
                return Arc::clone(&entry.list);
            }
        }
        let entry = CachedList {
            requested_at: Instant::now(),
            list: Arc::default(),
        };
        lists.insert(name.to_owned(), entry.clone());
        entry.list
    }
}

async fn request_list(provider: Arc<dyn Provider>) -> Option<Arc<[ModelInfo]>> {
    match timeout(LIST_TIMEOUT, provider.models()).await {
        Ok(Ok(models)) => Some(models.into()),
        Ok(Err(error)) => {
            tracing::debug!(reason = %error, "a provider did not list its models");
            None
        }
        Err(_) => None,
    }
}
