//! State that outlives configurations: admission, keys, metrics, traces, sinks and
//! shutdown signals.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arc_swap::{ArcSwap, ArcSwapOption};
use majordomo_cluster::News;

use super::admission::Admission;
use super::limits::Limits;
use super::polls::Polls;
use super::shutdown::ShutdownSignal;
use super::usage_by_key::UsageByKey;
use crate::capture::Capture;
use crate::cluster::{Cluster, apply_hint};
use crate::config::TeamEntry;
use crate::config::transition::AtStartup;
use crate::heavy_lane::HeavyLane;
use crate::keys::ClientKeys;
use crate::ledger_sink::LedgerSink;
use crate::live::LiveFeed;
use crate::metrics::Metrics;
use crate::quota::Quotas;
use crate::record::{RequestLog, RequestSink, Sinks};
use crate::state::{GatewayState, SharedState};
use crate::stored_keys::{AccessCaller, StoredEntries};
use crate::traces::Traces;
use crate::trust::{AuthThrottle, Sessions};

/// Shared by all connections and the operator listener.
pub(crate) struct ServerContext {
    pub(crate) state: SharedState,
    pub(crate) limits: Limits,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) traces: Arc<Traces>,
    pub(crate) live: Arc<LiveFeed>,
    /// Requests of keys that opted in.
    pub(crate) capture: Arc<Capture>,
    /// The clients' address, as bound.
    address: SocketAddr,
    /// Receive the record of every request.
    sinks: ArcSwap<Sinks>,
    /// One of the sinks, which can also be queried.
    ledger: ArcSwapOption<LedgerSink>,
    admission: ArcSwap<Admission>,
    quotas: ArcSwap<Quotas>,
    /// The keys of the file and those of the store.
    keys: ArcSwap<ClientKeys>,
    /// Locked while `keys` is rebuilt.
    stored: Mutex<Arc<StoredEntries>>,
    /// Makes changes to stored keys and teams.
    pub(crate) access: ArcSwapOption<AccessCaller>,
    /// The other gateways, if there are any.
    cluster: ArcSwapOption<Cluster>,
    pub(super) usage_by_key: UsageByKey,
    /// Failed authentications by peer.
    pub(crate) auth_throttle: AuthThrottle,
    /// Browsers that signed in to the page.
    pub(crate) sessions: Sessions,
    /// Runs the CPU work of large bodies.
    pub(crate) lane: Arc<HeavyLane>,
    pub(crate) polls: Polls,
    /// Why the newest configuration file is not active.
    pub(crate) stale: ArcSwapOption<String>,
    /// Settings that take effect only after a restart.
    pub(crate) notes: ArcSwap<Vec<String>>,
    /// The settings fixed until the process ends; empty before it serves.
    pub(crate) at_startup: OnceLock<AtStartup>,
    /// Triggered when the server is asked to stop: it is not ready any more, and each
    /// HTTP/1 connection serves one more request.
    pub(crate) leaving: ShutdownSignal,
    /// Triggered when the drain starts: no new connections, requests may finish.
    pub(crate) stopping: ShutdownSignal,
    /// Triggered when the drain timeout expires: everything still running ends.
    pub(crate) cut: ShutdownSignal,
}

impl ServerContext {
    /// Must be called in the runtime that serves.
    pub(crate) fn new(state: Arc<GatewayState>, limits: Limits, address: SocketAddr) -> Arc<Self> {
        let metrics = Arc::<Metrics>::default();
        metrics.configure(state.named_targets());
        let traces = Arc::new(Traces::new(&state.server));
        let live = Arc::<LiveFeed>::default();
        let capture = Arc::<Capture>::default();
        capture.resize(state.config().capture.size);
        let sinks = Sinks::new([
            Arc::new(RequestLog) as Arc<dyn RequestSink>,
            metrics.clone() as _,
            // A request moves from the feed to the traces; in the other order, it would
            // briefly be in neither.
            traces.clone() as _,
            live.clone() as _,
        ]);
        Arc::new(Self {
            admission: ArcSwap::new(Admission::new(
                &state.server,
                &state.keys,
                limits.queue_wait,
            )),
            keys: ArcSwap::from_pointee(state.keys.clone()),
            stored: Mutex::default(),
            access: ArcSwapOption::empty(),
            cluster: ArcSwapOption::empty(),
            usage_by_key: UsageByKey::default(),
            sinks: ArcSwap::from_pointee(sinks),
            quotas: ArcSwap::new(Quotas::new(None, None)),
            ledger: ArcSwapOption::empty(),
            traces,
            live,
            capture,
            address,
            auth_throttle: AuthThrottle::default(),
            sessions: Sessions::default(),
            lane: Arc::new(HeavyLane::new()),
            polls: Polls::default(),
            stale: ArcSwapOption::empty(),
            notes: ArcSwap::default(),
            state: Arc::new(ArcSwap::new(state)),
            limits,
            metrics,
            at_startup: OnceLock::new(),
            leaving: ShutdownSignal::default(),
            stopping: ShutdownSignal::default(),
            cut: ShutdownSignal::default(),
        })
    }

    /// The clients' address, as bound.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The sinks of a request that arrives now.
    pub(crate) fn sinks(&self) -> Arc<Sinks> {
        self.sinks.load_full()
    }

    /// Adds a sink for the requests that arrive from now on.
    pub(crate) fn add_sink(&self, sink: Arc<dyn RequestSink>) {
        self.sinks
            .rcu(|sinks| Arc::new(sinks.with(Arc::clone(&sink))));
    }

    /// Records the requests that arrive from now on.
    pub(crate) fn set_ledger(&self, ledger: LedgerSink) {
        let ledger = Arc::new(ledger);
        self.ledger.store(Some(Arc::clone(&ledger)));
        self.add_sink(ledger);
    }

    pub(crate) fn ledger(&self) -> Option<Arc<LedgerSink>> {
        self.ledger.load_full()
    }

    /// Keeps budgets in a store, from the next request on.
    pub(crate) fn set_quotas(&self, quotas: Arc<Quotas>) {
        self.quotas.store(quotas);
    }

    pub(crate) fn quotas(&self) -> Arc<Quotas> {
        self.quotas.load_full()
    }

    pub(crate) fn set_cluster(&self, cluster: Option<Cluster>) {
        self.cluster.store(cluster.map(Arc::new));
    }

    pub(crate) fn cluster(&self) -> Option<Arc<Cluster>> {
        self.cluster.load_full()
    }

    /// Applies a hint from another node.
    pub(crate) fn hear(&self, news: &News) {
        match news {
            News::Resync | News::KeysChanged => {
                if let Some(access) = self.access.load().as_ref() {
                    access.look();
                }
            }
            News::Benched {
                subject,
                millis,
                demanded,
            } => {
                let state = self.state.load();
                apply_hint(state.registry.health(), subject, *millis, *demanded);
            }
            _ => {}
        }
    }

    pub(crate) fn admission(&self) -> Arc<Admission> {
        self.admission.load_full()
    }

    /// The keys of a request that arrives now.
    pub(crate) fn keys(&self) -> Arc<ClientKeys> {
        self.keys.load_full()
    }

    /// Replaces the stored keys and teams.
    pub(crate) fn set_stored(&self, entries: Arc<StoredEntries>) {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        *stored = entries;
        if stored.have_budgets() {
            self.quotas().open_store();
        }
        self.merge_keys(&self.state.load(), &stored);
    }

    /// Whether the file or a stored key or team has a budget.
    pub(crate) fn has_budgets(&self) -> bool {
        let stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        self.state.load().config().has_budgets() || stored.have_budgets()
    }

    /// Combines the keys of a configuration with the stored ones.
    fn merge_keys(&self, state: &GatewayState, stored: &StoredEntries) {
        let of_file = &state.config().teams;
        let new = |team: &&TeamEntry| !of_file.iter().any(|known| known.name == team.name);
        let teams = of_file.iter().chain(stored.teams.iter().filter(new));
        let teams: Vec<&TeamEntry> = teams.collect();
        let keys = state.keys.clone();
        let keys = keys.with_stored(&stored.keys, &teams, stored.requires_key);
        self.admit_like(state, &keys);
        self.keys.store(Arc::new(keys));
    }

    /// Replaces admission if its limits change. Running requests count against the old
    /// limits until they end.
    fn admit_like(&self, state: &GatewayState, keys: &ClientKeys) {
        if !self.admission.load().has_limits_of(&state.server, keys) {
            let admission = Admission::new(&state.server, keys, self.limits.queue_wait);
            self.admission.store(admission);
        }
    }

    /// Activates a configuration. If its admission limits are unchanged, running
    /// requests still count against them; otherwise they count against the old limits
    /// until they end.
    pub(crate) fn swap(&self, state: Arc<GatewayState>) {
        let stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        self.merge_keys(&state, &stored);
        if state.config().has_budgets() {
            self.quotas().open_store();
        }
        self.quotas().set_days(state.limits.days());
        self.traces.resize(&state.server);
        self.capture.resize(state.config().capture.size);
        self.metrics.configure(state.named_targets());
        self.state.store(state);
        self.stale.store(None);
    }
}
