//! Notices of attempts, benches and recoveries, for metrics and logs.

use std::sync::Arc;
use std::time::Duration;

use majordomo_llm::Class;

use crate::bench_cause::BenchCause;

/// An event at a target.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice<'a> {
    /// A target served; a stream has served when it finishes.
    Served {
        /// `provider/model`.
        target: &'a str,
    },
    /// A target failed, possibly in the middle of a stream.
    Failed {
        /// `provider/model`.
        target: &'a str,
        /// The error's class.
        class: Class,
        /// The error's text. It may repeat the prompt: show it to the requesting client only.
        reason: &'a str,
    },
    /// A target was skipped.
    Skipped {
        /// `provider/model`.
        target: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// A target, or a provider's credential, was benched.
    Benched {
        /// `provider/model`, or `provider` for its credential.
        subject: &'a str,
        /// For how long.
        wait: Duration,
        /// Why.
        cause: &'a BenchCause,
    },
    /// The target or credential is in use again.
    Recovered {
        /// `provider/model`, or `provider` for its credential.
        subject: &'a str,
    },
}

/// Receives [`Notice`]s.
///
/// Runs on the request path and must be quick. No lock is held during the call, so a panic
/// affects only the request.
pub trait Observer: Send + Sync {
    /// Handles a notice.
    fn notice(&self, notice: &Notice<'_>);
}

/// Closures are observers.
impl<F: Fn(&Notice<'_>) + Send + Sync> Observer for F {
    fn notice(&self, notice: &Notice<'_>) {
        self(notice);
    }
}

/// The registered observers.
#[derive(Clone, Default)]
pub(crate) struct Observers(Arc<Vec<Arc<dyn Observer>>>);

impl Observers {
    pub(crate) fn add(&mut self, observer: Arc<dyn Observer>) {
        Arc::make_mut(&mut self.0).push(observer);
    }

    pub(crate) fn notify(&self, notice: &Notice<'_>) {
        for observer in self.0.iter() {
            observer.notice(notice);
        }
    }
}
