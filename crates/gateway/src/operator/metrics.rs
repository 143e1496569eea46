//! `/metrics`: the text for Prometheus.

use http::{Response, StatusCode};

use super::body::OperatorBody;
use super::page;
use crate::server::{ServerContext, ready};
use crate::state::GatewayState;

/// Responds with all metrics.
pub(super) fn respond(context: &ServerContext, state: &GatewayState) -> Response<OperatorBody> {
    let health = state.registry.health().snapshot();
    let ready = ready(context).0 == StatusCode::OK;
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    let mut metrics = context.metrics.page(&health, ready);
    let stale = u8::from(context.stale.load().is_some());
    metrics.push_str(&format!(
        "# HELP majordomo_config_stale Whether the newest configuration file is not active.\n\
         # TYPE majordomo_config_stale gauge\nmajordomo_config_stale {stale}\n"
    ));
    if let Some(ledger) = context.ledger() {
        metrics.push_str(&of_ledger(&ledger.status()));
    }
    metrics.push_str(&context.quotas().metrics());
    page(StatusCode::OK, kind, metrics)
}

/// Whether the ledger keeps up.
fn of_ledger(status: &majordomo_ledger::StatusSnapshot) -> String {
    let mut text = String::new();
    for (name, kind, help, value) in [
        (
            "available",
            "gauge",
            "Whether the ledger can be written.",
            u64::from(status.available),
        ),
        (
            "waiting",
            "gauge",
            "Entries that wait for the ledger.",
            status.waiting,
        ),
        (
            "written_total",
            "counter",
            "Entries written to the ledger.",
            status.written,
        ),
        (
            "dropped_total",
            "counter",
            "Entries that the ledger lost.",
            status.dropped,
        ),
    ] {
        let name = format!("majordomo_ledger_{name}");
        text.push_str(&format!(
            "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n"
        ));
    }
    text
}
