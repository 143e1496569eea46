//! The status as plain text, for terminals.

use super::health;
use crate::server::{ServerContext, ready};
use crate::trust::Visible;

/// A short human-readable status. A reader of one team's requests learns nothing about other
/// teams.
pub(super) fn text(context: &ServerContext, sees: &Visible) -> String {
    if *sees != Visible::All {
        return format!(
            "majordomo {}\n{}page: open this address in a browser\nmore: /api/requests, /api/usage\n",
            env!("CARGO_PKG_VERSION"),
            ready(context).1,
        );
    }
    let state = context.state.load();
    let (health, other) = health::listed(&state);
    let benched = health.iter().filter(|status| status.until_usable.is_some());
    let mut page = format!(
        "majordomo {}\n{}requests: {} open, {} of them streams\n",
        env!("CARGO_PKG_VERSION"),
        ready(context).1,
        context.metrics.open_requests.get(),
        context.metrics.open_streams.get(),
    );
    if let Some(reason) = &*context.stale.load() {
        page.push_str(&format!("the old configuration is active: {reason}\n"));
    }
    for note in &**context.notes.load() {
        page.push_str(&format!("{note}\n"));
    }
    for notice in context
        .cluster()
        .iter()
        .flat_map(|cluster| cluster.notices())
    {
        page.push_str(&format!("{notice}\n"));
    }
    for status in benched {
        let why = status.cause.as_ref().map(ToString::to_string);
        let why = why.unwrap_or_else(|| "no reason".to_owned());
        page.push_str(&format!("benched: {} ({why})\n", status.subject));
    }
    if other.benched > 0 {
        page.push_str(&format!("benched: {} others\n", other.benched));
    }
    page.push_str(
        "page: open this address in a browser\n\
         more: /api/health, /api/events, /api/requests, /api/usage, /api/explain (POST), /api/keys, \
         /api/teams, /api/audit, /metrics, /healthz, /readyz, \
         /api/targets/{target}/release, /bench and /probe (POST)\n",
    );
    page
}
