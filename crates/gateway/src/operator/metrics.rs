//! `/metrics`: all metrics of the gateway and its stores.

use crate::metrics::families::{
    BUILD_INFO, CONFIG_STALE, LEDGER_AVAILABLE, LEDGER_DROPPED, LEDGER_WAITING, LEDGER_WRITTEN,
    OPEN_RESERVATIONS, READY, RESERVED_USD,
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
    page.values(&BUILD_INFO, [(env!("CARGO_PKG_VERSION").to_owned(), 1)]);
    page.finish()
}
