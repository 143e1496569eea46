//! What outlives every configuration: the room, the figures, the end.

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};

use super::admission::Admission;
use super::bell::Bell;
use super::guesses::Guesses;
use super::limits::Limits;
use crate::operator::Metrics;
use crate::state::{Shared, State};
use crate::traces::Traces;

/// Shared by all connections and the operator's listener.
pub(crate) struct House {
    pub(crate) state: Shared,
    pub(crate) limits: Limits,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) traces: Arc<Traces>,
    /// Where spans go, if they go anywhere.
    #[cfg(feature = "otel")]
    pub(crate) telemetry: std::sync::OnceLock<crate::telemetry::Telemetry>,
    admission: ArcSwap<Admission>,
    /// Who sent wrong keys.
    pub(super) guesses: Guesses,
    /// Why the file as it is now is not at work.
    pub(crate) stale: ArcSwapOption<String>,
    /// No more requests are taken; those that run may end.
    pub(crate) stopping: Bell,
    /// Whatever still runs is ended now.
    pub(crate) cut: Bell,
}

impl House {
    pub(crate) fn new(state: Arc<State>, limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            admission: ArcSwap::new(Admission::new(&state.server, limits.queue_wait)),
            traces: Arc::new(Traces::new(&state.server)),
            #[cfg(feature = "otel")]
            telemetry: std::sync::OnceLock::new(),
            guesses: Guesses::default(),
            stale: ArcSwapOption::empty(),
            state: Arc::new(ArcSwap::new(state)),
            limits,
            metrics: Arc::default(),
            stopping: Bell::default(),
            cut: Bell::default(),
        })
    }

    pub(crate) fn admission(&self) -> Arc<Admission> {
        self.admission.load_full()
    }

    /// Puts another configuration to work. Where its room is the same, what runs
    /// is still counted; else it is counted in the old room until it ends.
    pub(crate) fn swap(&self, state: Arc<State>) {
        if !self.admission.load().fits(&state.server) {
            let room = Admission::new(&state.server, self.limits.queue_wait);
            self.admission.store(room);
        }
        self.traces.resize(&state.server);
        self.state.store(state);
        self.stale.store(None);
    }
}
