//! What a chain and its health tell to whoever listens.

use std::sync::Arc;
use std::time::Duration;

use majordomo_llm::Class;

use crate::health::BenchCause;

/// Something that happened to a target.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice<'a> {
    /// A target was asked and served; a stream has served when it finishes.
    Served {
        /// `provider/model`.
        target: &'a str,
    },
    /// A target was asked and failed, maybe in the middle of a stream.
    Failed {
        /// `provider/model`.
        target: &'a str,
        /// What kind of failure.
        class: Class,
        /// The error's text. It may repeat what was asked, so it is for whoever asked.
        reason: &'a str,
    },
    /// A target was passed over.
    Skipped {
        /// `provider/model`.
        target: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// A target, or a provider's credential, is left alone for a while.
    Benched {
        /// `provider/model`, or `provider` for its credential.
        subject: &'a str,
        /// For how long.
        wait: Duration,
        /// Why.
        cause: &'a BenchCause,
    },
    /// It is used again.
    Recovered {
        /// `provider/model`, or `provider` for its credential.
        subject: &'a str,
    },
}

/// Listens to [`Notice`]s: counts them, logs them, stores them.
///
/// It is called on the request's own path and must be quick. A panic in it is
/// the listener's own problem: nothing of ours is locked meanwhile.
pub trait Observer: Send + Sync {
    /// Takes note.
    fn notice(&self, notice: &Notice<'_>);
}

/// Closures listen too.
impl<F: Fn(&Notice<'_>) + Send + Sync> Observer for F {
    fn notice(&self, notice: &Notice<'_>) {
        self(notice);
    }
}

/// Everybody who listens.
#[derive(Clone, Default)]
pub(crate) struct Observers(Arc<Vec<Arc<dyn Observer>>>);

impl Observers {
    pub(crate) fn add(&mut self, observer: Arc<dyn Observer>) {
        Arc::make_mut(&mut self.0).push(observer);
    }

    pub(crate) fn tell(&self, notice: &Notice<'_>) {
        for observer in self.0.iter() {
            observer.notice(notice);
        }
    }
}
