//! All metrics of the gateway and its stores, as `/metrics` shows them and a collector gets them.

use http::StatusCode;
use majordomo_cluster::{StoreState, StoreStatus};

use crate::metrics::MetricsSnapshot;
use crate::metrics::families::{
    BUILD_INFO, CLUSTER_EXCHANGES, CLUSTER_NODES, CLUSTER_ROUND_TRIPS, CONFIG_STALE,
    LEDGER_AVAILABLE, LEDGER_DROPPED, LEDGER_WAITING, LEDGER_WRITTEN, OPEN_RESERVATIONS, READY,
    RESERVED_USD, STORE_OUTAGES, STORE_UP, STORE_WAIT_LONGEST, STORE_WAIT_SECONDS, STORE_WAITS,
};
use crate::server::{ServerContext, ready};

/// All metrics now.
pub(crate) fn current_metrics(context: &ServerContext) -> MetricsSnapshot {
    let state = context.state.load();
    let ready = ready(context).0 == StatusCode::OK;
    let mut snapshot = context.metrics.snapshot();
    snapshot.health(&state.registry.health().snapshot());
    snapshot.value(&READY, u8::from(ready));
    snapshot.value(&CONFIG_STALE, u8::from(context.stale.load().is_some()));
    if let Some(ledger) = context.ledger() {
        let status = ledger.status();
        snapshot.value(&LEDGER_AVAILABLE, u8::from(status.available));
        snapshot.value(&LEDGER_WAITING, status.waiting);
        snapshot.value(&LEDGER_WRITTEN, status.written);
        snapshot.value(&LEDGER_DROPPED, status.dropped);
    }
    let (reservations, reserved) = context.quotas().open_reservations();
    snapshot.value(&OPEN_RESERVATIONS, reservations);
    snapshot.value(&RESERVED_USD, reserved);
    let (waits, sum, longest) = context.quotas().store_waits();
    snapshot.value(&STORE_WAITS, waits);
    snapshot.value(&STORE_WAIT_SECONDS, sum);
    snapshot.value(&STORE_WAIT_LONGEST, longest);
    if let Some(cluster) = context.cluster() {
        let stores = cluster.statuses();
        let up = |store: &StoreStatus| u64::from(store.state == StoreState::Up);
        let by_store = stores.iter().map(|it| (it.store.to_owned(), up(it)));
        snapshot.values(&STORE_UP, by_store);
        let outages = stores.iter().map(|it| (it.store.to_owned(), it.outages));
        snapshot.values(&STORE_OUTAGES, outages);
        let (exchanges, round_trips) = cluster.exchanges();
        snapshot.value(&CLUSTER_NODES, cluster.nodes());
        snapshot.value(&CLUSTER_EXCHANGES, exchanges);
        snapshot.value(&CLUSTER_ROUND_TRIPS, round_trips);
    }
    snapshot.values(&BUILD_INFO, [(env!("CARGO_PKG_VERSION").to_owned(), 1)]);
    snapshot
}
