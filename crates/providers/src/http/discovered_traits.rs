//! The capabilities of one model: assumed at first, discovered later.
//!
//! Discovery starts with the first request and runs concurrently, so that no
//! request waits for it. Its task is aborted when the last owner is dropped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use majordomo_llm::Result;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::discovery::ModelTraits;

/// Lifetime of a discovered result, including a negative one.
const TTL: Duration = Duration::from_secs(3_600);
/// Delay after a failed discovery.
const RETRY_DELAY: Duration = Duration::from_secs(60);

pub(super) struct DiscoveredTraits {
    assumed: ModelTraits,
    state: Mutex<DiscoveryState>,
    updated: Notify,
}

#[derive(Default)]
struct DiscoveryState {
    discovered: Option<ModelTraits>,
    /// Earliest time of the next discovery.
    next: Option<Instant>,
    task: Option<AbortOnDrop>,
}

/// Aborts the task when dropped.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl DiscoveredTraits {
    pub(super) fn new(assumed: ModelTraits) -> Self {
        Self {
            assumed,
            state: Mutex::default(),
            updated: Notify::new(),
        }
    }

    /// The best current knowledge.
    pub(super) fn current(&self) -> ModelTraits {
        let discovered = self.state().discovered.clone();
        discovered.unwrap_or_else(|| self.assumed.clone())
    }

    pub(super) fn assumed(&self) -> &ModelTraits {
        &self.assumed
    }

    /// Starts discovery if it is due. `discover` returns `None` if the provider has
    /// no discovery API.
    pub(super) fn refresh<F>(self: &Arc<Self>, discover: impl FnOnce() -> Option<F>)
    where
        F: Future<Output = Result<Option<ModelTraits>>> + Send + 'static,
    {
        let now = Instant::now();
        let mut state = self.state();
        if state.next.is_some_and(|next| now < next) {
            return;
        }
        let Some(discovery) = discover() else {
            state.next = Some(now + TTL);
            return;
        };
        state.next = Some(now + RETRY_DELAY);
        // Weak, so that the task does not keep its owner alive.
        let traits = Arc::downgrade(self);
        state.task = Some(AbortOnDrop(tokio::spawn(async move {
            let discovered = discovery.await;
            if let (Ok(discovered), Some(traits)) = (discovered, traits.upgrade()) {
                traits.complete(discovered);
            }
        })));
    }

    fn complete(&self, discovered: Option<ModelTraits>) {
        let mut state = self.state();
        state.next = Some(Instant::now() + TTL);
        if discovered.is_some() {
            state.discovered = discovered;
        }
        drop(state);
        self.updated.notify_waiters();
    }

    /// Waits until discovery finds that the model takes no images; possibly
    /// forever.
    pub(super) async fn images_unsupported(&self) {
        loop {
            let updated = self.updated.notified();
            if !self.current().capabilities.takes_images() {
                return;
            }
            updated.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, DiscoveryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
