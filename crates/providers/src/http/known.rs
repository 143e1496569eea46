//! What is known about one model: assumed at first, told by the server later.
//!
//! The server is asked beside the first request and never before it, so no
//! request waits. The question is a task that is aborted with its last owner.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use majordomo_llm::Result;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::discovery::Knowledge;

/// How long an answer is believed, and a refusal to tell as well.
const FRESH: Duration = Duration::from_secs(3_600);
/// How long a failed question is not asked again.
const PAUSE: Duration = Duration::from_secs(60);

pub(super) struct Known {
    assumed: Knowledge,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    told: Option<Knowledge>,
    /// Before this, nobody is asked.
    next: Option<Instant>,
    asking: Option<Task>,
}

/// A task that ends with its owner.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Known {
    pub(super) fn new(assumed: Knowledge) -> Self {
        Self {
            assumed,
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// What is known by now.
    pub(super) fn now(&self) -> Knowledge {
        let told = self.state().told.clone();
        told.unwrap_or_else(|| self.assumed.clone())
    }

    pub(super) fn assumed(&self) -> &Knowledge {
        &self.assumed
    }

    /// Asks the server if that is due; `ask` gives nothing if it cannot be asked.
    pub(super) fn refresh<F>(self: &Arc<Self>, ask: impl FnOnce() -> Option<F>)
    where
        F: Future<Output = Result<Option<Knowledge>>> + Send + 'static,
    {
        let now = Instant::now();
        let mut state = self.state();
        if state.next.is_some_and(|next| now < next) {
            return;
        }
        let Some(asking) = ask() else {
            state.next = Some(now + FRESH);
            return;
        };
        state.next = Some(now + PAUSE);
        // Weak, or the task would keep its own owner alive.
        let known = Arc::downgrade(self);
        state.asking = Some(Task(tokio::spawn(async move {
            let told = asking.await;
            if let (Ok(told), Some(known)) = (told, known.upgrade()) {
                known.settle(told);
            }
        })));
    }

    fn settle(&self, told: Option<Knowledge>) {
        let mut state = self.state();
        state.next = Some(Instant::now() + FRESH);
        if told.is_some() {
            state.told = told;
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Waits until the server tells that the model takes no images; for ever if
    /// it does not.
    pub(super) async fn blind(&self) {
        loop {
            let changed = self.changed.notified();
            if !self.now().capabilities.takes_images() {
                return;
            }
            changed.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
