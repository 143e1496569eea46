//! What outlives every configuration: the room, the figures, the end.

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};

use super::admission::Admission;
use super::limits::Limits;
use super::polls::Polls;
use super::shutdown::ShutdownSignal;
use crate::heavy_lane::Lane;
use crate::metrics::Metrics;
use crate::state::{GatewayState, SharedState};
use crate::traces::Traces;
use crate::trust::AuthThrottle;

/// Shared by all connections and the operator's listener.
pub(crate) struct ServerContext {
    pub(crate) state: SharedState,
    pub(crate) limits: Limits,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) traces: Arc<Traces>,
    /// Where spans go, if they go anywhere.
    #[cfg(feature = "otel")]
    pub(crate) telemetry: std::sync::OnceLock<crate::telemetry::Telemetry>,
    admission: ArcSwap<Admission>,
    /// Who sent wrong keys.
    pub(crate) auth_throttle: AuthThrottle,
    /// Where the CPU work of large bodies runs.
    pub(crate) lane: Arc<Lane>,
    pub(crate) polls: Polls,
    /// Why the file as it is now is not at work.
    pub(crate) stale: ArcSwapOption<String>,
    /// What the file says and only a restart can do.
    pub(crate) notes: ArcSwap<Vec<String>>,
    /// No more requests are taken; those that run may end.
    pub(crate) stopping: ShutdownSignal,
    /// Whatever still runs is ended now.
    pub(crate) cut: ShutdownSignal,
}

impl ServerContext {
    /// To be made in the runtime that serves.
    pub(crate) fn new(state: Arc<GatewayState>, limits: Limits) -> Arc<Self> {
        let metrics = Arc::<Metrics>::default();
        metrics.configure(state.named_targets());
        Arc::new(Self {
            admission: ArcSwap::new(Admission::new(
                &state.server,
                &state.keys,
                limits.queue_wait,
            )),
            traces: Arc::new(Traces::new(&state.server)),
            #[cfg(feature = "otel")]
            telemetry: std::sync::OnceLock::new(),
            auth_throttle: AuthThrottle::default(),
            lane: Arc::new(Lane::new()),
            polls: Polls::default(),
            stale: ArcSwapOption::empty(),
            notes: ArcSwap::default(),
            state: Arc::new(ArcSwap::new(state)),
            limits,
            metrics,
            stopping: ShutdownSignal::default(),
            cut: ShutdownSignal::default(),
        })
    }

    pub(crate) fn admission(&self) -> Arc<Admission> {
        self.admission.load_full()
    }

    /// Puts another configuration to work. Where its room is the same, what runs
    /// is still counted; else it is counted in the old room until it ends.
    pub(crate) fn swap(&self, state: Arc<GatewayState>) {
        if !self.admission.load().fits(&state.server, &state.keys) {
            let room = Admission::new(&state.server, &state.keys, self.limits.queue_wait);
            self.admission.store(room);
        }
        self.traces.resize(&state.server);
        self.metrics.configure(state.named_targets());
        self.state.store(state);
        self.stale.store(None);
    }
}
