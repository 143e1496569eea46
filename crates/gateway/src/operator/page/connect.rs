//! The addresses at which clients reach this gateway.

use std::time::Duration;

use majordomo_limits::Flow;
use majordomo_page::{ConnectView, Screen};
use tokio::time::timeout;

use super::{PageContext, rows};
use crate::clock::wall_clock;

/// Providers may be slow to list their models; a screen does not wait for them.
const LIST_TIMEOUT: Duration = Duration::from_secs(2);
/// Names that are listed.
const MOST_MODELS: usize = 200;

pub(super) async fn render(context: &PageContext<'_>) -> String {
    let view = ConnectView {
        base: base(context),
        keys: !context.server.keys().is_keyless(),
        models: models(context).await,
        now: rows::timestamp(wall_clock()),
    };
    majordomo_page::connect(&context.frame(Screen::Connect), &view)
}

/// The base URL of the clients' listener, as this machine reaches it.
pub(super) fn base(context: &PageContext<'_>) -> String {
    let scheme = match context.state.server.tls {
        Some(_) => "https",
        None => "http",
    };
    let address = crate::server::local(context.server.address());
    format!("{scheme}://{address}")
}

/// Names that clients can request: routes and aliases first.
pub(super) async fn models(context: &PageContext<'_>) -> Vec<String> {
    let state = std::sync::Arc::clone(context.state);
    // Connections to providers belong to another runtime than the operator's.
    let listing = async move { state.names().await };
    let listing = context.server.lane.spawn(Flow::named("models"), 0, listing);
    let mut names = match timeout(LIST_TIMEOUT, listing).await {
        Ok(names) => names,
        Err(_) => context.state.targets.clone(),
    };
    if let Some(key) = context.caller.key() {
        names.retain(|name| key.may_use(name));
    }
    names.truncate(MOST_MODELS);
    names
}
