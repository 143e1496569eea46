//! This gateway as a node of a cluster: the state that it shares with other nodes.
//!
//! `majordomo_cluster` implements the node. This module connects it with health (bench hints),
//! the vision proxy (shared descriptions) and the operator's pages. Nothing here decides about
//! a request: a node without its stores keeps serving on its own. May use `config`.

mod descriptions;
mod hints;

use std::collections::BTreeMap;
use std::sync::Arc;

use majordomo_cluster::{
    Availability, ClusterNode, ClusterSettings, HearNews, News, StoreState, StoreStatus,
};
use majordomo_limits::TrafficBackend;
use serde::Serialize;
use tokio::time::Instant;

pub(crate) use hints::{BenchTeller, apply_hint};

use crate::config::{Config, LedgerPlace};

/// A node and its stores. Clones share it.
#[derive(Clone)]
pub(crate) struct Cluster {
    node: Arc<ClusterNode>,
    /// The ledger's database, if nodes share one.
    ledger: Option<Arc<Availability>>,
}

impl Cluster {
    /// The node of a configuration that has one.
    pub(crate) fn new(config: &Config, environment: &BTreeMap<String, String>) -> Option<Self> {
        let settings = config.cluster.as_ref()?;
        let name = settings.name.clone().or_else(|| host_name(environment));
        let node = ClusterNode::new(ClusterSettings {
            state: settings.state.clone(),
            name: name.unwrap_or_else(|| "node".to_owned()),
            nodes: settings.nodes,
        });
        let ledger = matches!(config.ledger.store, LedgerPlace::Postgres(_)).then(|| {
            let consequence = "leases are spent, then strict budgets refuse";
            let store = Availability::new("postgres", consequence, Instant::now());
            Arc::new(store)
        });
        Some(Self { node, ledger })
    }

    /// The store that shares rates and seats.
    pub(crate) fn traffic(&self) -> Arc<dyn TrafficBackend> {
        Arc::clone(&self.node) as _
    }

    /// The state machine of the ledger's database.
    pub(crate) fn ledger_store(&self) -> Arc<Availability> {
        let none = || {
            Arc::new(Availability::new(
                "ledger",
                "leases are spent",
                Instant::now(),
            ))
        };
        self.ledger.clone().unwrap_or_else(none)
    }

    /// The number of nodes that this one knows of.
    pub(crate) fn nodes(&self) -> u64 {
        self.node.nodes()
    }

    /// Announces to other nodes that stored keys changed.
    pub(crate) fn tell_keys_changed(&self) {
        self.node.tell(News::KeysChanged);
    }

    /// A member of the cluster until it is dropped.
    pub(crate) async fn run(&self, hear: HearNews) {
        self.node.run(hear).await;
    }

    /// Leaves the cluster, so that other nodes take over this node's leases.
    pub(crate) async fn leave(&self) {
        self.node.leave().await;
    }

    /// The stores that gateways share.
    pub(crate) fn statuses(&self) -> Vec<StoreStatus> {
        let now = Instant::now();
        let ledger = self.ledger.as_ref().map(|store| store.status(now));
        let mut all = vec![self.node.availability().status(now)];
        all.extend(ledger);
        all
    }

    /// For `/api/health`.
    pub(crate) fn report(&self) -> ClusterReport {
        let stores = self.statuses().into_iter();
        ClusterReport {
            node: self.node.id(),
            nodes: self.nodes(),
            stores: stores.map(StoreReport::from).collect(),
        }
    }

    /// Sentences about stores that do not respond, for the page.
    pub(crate) fn notices(&self) -> Vec<String> {
        let away = self.statuses().into_iter();
        let away = away.filter(|status| status.state != StoreState::Up);
        away.map(|status| {
            let (store, seconds) = (status.store, status.for_time.as_secs());
            let effect = match store {
                "redis" => "each gateway enforces its share of rates and seats",
                _ => "strict budgets are refused once their leases are spent",
            };
            format!("The store {store} has not responded for {seconds} s: {effect}.")
        })
        .collect()
    }

    /// The numbers of exchanges about limits and of their round trips.
    pub(crate) fn exchanges(&self) -> (u64, u64) {
        let stats = self.node.stats();
        (stats.exchanges(), stats.round_trips())
    }
}

/// The cluster in `/api/health`.
#[derive(Serialize)]
pub(crate) struct ClusterReport {
    /// This node's name and epoch.
    pub(crate) node: String,
    pub(crate) nodes: u64,
    pub(crate) stores: Vec<StoreReport>,
}

/// A shared store in `/api/health`.
#[derive(Serialize)]
pub(crate) struct StoreReport {
    pub(crate) store: &'static str,
    pub(crate) state: &'static str,
    /// Seconds since its availability changed.
    pub(crate) since_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    pub(crate) outages: u64,
}

impl From<StoreStatus> for StoreReport {
    fn from(status: StoreStatus) -> Self {
        Self {
            store: status.store,
            state: status.state.name(),
            since_seconds: status.for_time.as_secs_f64(),
            reason: status.reason,
            outages: status.outages,
        }
    }
}

/// The machine's name, from the environment or the system.
fn host_name(environment: &BTreeMap<String, String>) -> Option<String> {
    let set = |name: &str| environment.get(name).cloned();
    let system = || std::fs::read_to_string("/etc/hostname").ok();
    let name = set("HOSTNAME")
        .or_else(|| set("COMPUTERNAME"))
        .or_else(system)?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}
