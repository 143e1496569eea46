//! All metrics of the gateway and its stores, as `/metrics` shows them and a collector gets them.

use majordomo_cluster::{StoreState, StoreStatus};

use crate::metrics::families::{
    BUILD_INFO, CLUSTER_EXCHANGES, CLUSTER_NODES, CLUSTER_ROUND_TRIPS, CONFIG_STALE,
    LEDGER_AVAILABLE, LEDGER_DROPPED, LEDGER_WAITING, LEDGER_WRITTEN, OPEN_RESERVATIONS, READY,
    RESERVED_USD, STORE_OUTAGES, STORE_UP, STORE_WAIT_LONGEST, STORE_WAIT_SECONDS, STORE_WAITS,
};
use crate::server::ServerContext;
use crate::state::GatewayState;

/// The page in Prometheus' text format.
pub(super) fn page(context: &ServerContext, state: &GatewayState, ready: bool) -> String {
    let mut page = context.metrics.page();
    page.health(&state.registry.health().snapshot());
    page.value(&READY, u8::from(ready));
    page.value(&CONFIG_STALE, u8::from(context.stale.load().is_some()));
    if let Some(ledger) = context.ledger() {
        let status = ledger.status();
        page.value(&LEDGER_AVAILABLE, u8::from(status.available));
        page.value(&LEDGER_WAITING, status.waiting);
        page.value(&LEDGER_WRITTEN, status.written);
        page.value(&LEDGER_DROPPED, status.dropped);
    }
    let (reservations, reserved) = context.quotas().open_reservations();
    page.value(&OPEN_RESERVATIONS, reservations);
    page.value(&RESERVED_USD, reserved);
    let (waits, sum, longest) = context.quotas().store_waits();
    page.value(&STORE_WAITS, waits);
    page.value(&STORE_WAIT_SECONDS, sum);
    page.value(&STORE_WAIT_LONGEST, longest);
    if let Some(cluster) = context.cluster() {
        let stores = cluster.statuses();
        let up = |store: &StoreStatus| u64::from(store.state == StoreState::Up);
        let by_store = stores.iter().map(|it| (it.store.to_owned(), up(it)));
        page.values(&STORE_UP, by_store);
        let outages = stores.iter().map(|it| (it.store.to_owned(), it.outages));
        page.values(&STORE_OUTAGES, outages);
        let (exchanges, round_trips) = cluster.exchanges();
        page.value(&CLUSTER_NODES, cluster.nodes());
        page.value(&CLUSTER_EXCHANGES, exchanges);
        page.value(&CLUSTER_ROUND_TRIPS, round_trips);
    }
    page.values(&BUILD_INFO, [(env!("CARGO_PKG_VERSION").to_owned(), 1)]);
    page.finish()
}
