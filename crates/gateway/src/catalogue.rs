//! Cached lists of the providers' models.
//!
//! Lists are requested on demand, from all providers concurrently with a short timeout: a
//! provider that does not respond is retried soon and delays no request.

use std::collections::{BTreeSet, HashMap};
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
    /// Providers whose failures are worth a warning.
    configured: BTreeSet<String>,
    lists: Mutex<HashMap<String, CachedList>>,
    /// Providers whose failure has been logged.
    failing: Mutex<BTreeSet<String>>,
}

/// A list that is present or being requested.
#[derive(Clone)]
struct CachedList {
    requested_at: Instant,
    list: Arc<OnceCell<Option<Arc<[ModelInfo]>>>>,
}

impl ModelCatalogue {
    pub(crate) fn new(
        registry: Registry,
        providers: Vec<String>,
        configured: BTreeSet<String>,
    ) -> Self {
        Self {
            registry,
            providers,
            configured,
            lists: Mutex::default(),
            failing: Mutex::default(),
        }
    }

    pub(crate) fn is_configured(&self, provider: &str) -> bool {
        self.configured.contains(provider)
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
        if let Err(error) = provider.ready() {
            self.report(name, Err(error.reason()));
            return None;
        }
        let cell = self.cell(name);
        let request = || async {
            let listed = request_list(provider).await;
            self.report(name, listed.as_ref().map(|_| ()).map_err(Clone::clone));
            listed.ok()
        };
        cell.get_or_init(request).await.clone()
    }

    /// Logs a failure once, and the success that ends it.
    fn report(&self, provider: &str, listed: Result<(), String>) {
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        match listed {
            Ok(()) => {
                if failing.remove(provider) {
                    tracing::info!(provider, "the model list loads again");
                }
            }
            Err(reason) => {
                if self.is_configured(provider) && failing.insert(provider.to_owned()) {
                    tracing::warn!(
                        provider,
                        reason,
                        "the model list failed to load: its models are found only as `provider/model`"
                    );
                }
            }
        }
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

async fn request_list(provider: Arc<dyn Provider>) -> Result<Arc<[ModelInfo]>, String> {
    match timeout(LIST_TIMEOUT, provider.models()).await {
        Ok(Ok(models)) => Ok(models.into()),
        Ok(Err(error)) => Err(error.reason()),
        Err(_) => Err(format!("no response within {} s", LIST_TIMEOUT.as_secs())),
    }
}
