//! When a stopping server may close a connection.
//!
//! HTTP/1 has no GOAWAY: a client that sends on a kept connection does not know that it is
//! being closed. So a connection in use is closed by the response to its next request, and
//! another one only after it was not used for a while.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::activity::ConnectionActivity;
use super::context::ServerContext;

/// Completes once the server stops and no request came for a while.
pub(super) async fn unused(context: Arc<ServerContext>, activity: Arc<ConnectionActivity>) {
    context.leaving.triggered().await;
    activity.take_used();
    loop {
        sleep(while_unused(&context)).await;
        let used = activity.take_used();
        if !used && context.stopping.is_triggered() {
            return;
        }
    }
}

/// Completes once the server stops and a new connection has sent nothing for a while.
pub(super) async fn never_used(context: &ServerContext) {
    context.stopping.triggered().await;
    sleep(while_unused(context)).await;
}

/// A short drain leaves time to close.
fn while_unused(context: &ServerContext) -> Duration {
    let drain = context.state.load().server.drain;
    context.limits.unused.min(drain / 2)
}
