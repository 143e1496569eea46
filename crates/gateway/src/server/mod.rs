//! The client-facing HTTP server: accept loop, connections, admission and graceful
//! drain.
//!
//! The accept loop is hand-written to enforce timeouts on silent connections and slow
//! heads. A request is a future owned by its connection, so a client disconnect cancels
//! all of its work.
//!
//! May use every module but `gateway`, `reload` and `operator`; `operator` shares its
//! context, TLS and body admission.

mod acceptor;
mod activity;
mod admission;
mod admit_body;
mod admit_caller;
mod body_reader;
mod certificate_host;
mod connection;
mod context;
mod discard;
mod dispatch;
mod endpoints;
mod guarded_body;
mod head;
mod inside;
mod key_status;
mod limits;
mod plain_responses;
mod polls;
mod protocol;
mod readiness;
mod retirement;
mod shutdown;
mod socket;
mod stream_progress;
mod tls;
mod usage_by_key;
mod write_timeout;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use acceptor::Acceptor;
pub(crate) use admit_body::admit_body_without_seat;
pub(crate) use certificate_host::{certificate_host, local};
pub(crate) use context::ServerContext;
pub(crate) use inside::{InsideRequest, serve_inside};
pub use limits::Limits;
pub(crate) use readiness::ready;
pub use tls::check_tls;
pub(crate) use tls::{Identity, TlsAcceptorHandle};

use crate::record::RequestSink;
use crate::state::GatewayState;

/// Time for interrupted responses to flush their final error.
const FINAL_FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// A bound gateway server.
pub struct Server {
    listener: TcpListener,
    context: Arc<ServerContext>,
    tls: Option<TlsAcceptorHandle>,
}

impl Server {
    /// Loads the configured certificate and binds the configured address.
    pub async fn bind(state: Arc<GatewayState>) -> io::Result<Self> {
        Self::bind_with(state, Limits::default()).await
    }

    /// Like [`bind`](Self::bind), with the given limits.
    pub async fn bind_with(state: Arc<GatewayState>, limits: Limits) -> io::Result<Self> {
        let files = state.server.tls.as_ref();
        let identity = files.map(Identity::load).transpose();
        let identity =
            identity.map_err(|text| io::Error::new(io::ErrorKind::InvalidInput, text))?;
        let listener = TcpListener::bind(state.server.listen).await?;
        let address = listener.local_addr()?;
        Ok(Self {
            listener,
            context: ServerContext::new(state, limits, address),
            tls: identity.map(TlsAcceptorHandle::new),
        })
    }

    /// The bound address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// A handle for replacing the configuration.
    pub fn handle(&self) -> Handle {
        Handle(Arc::clone(&self.context))
    }

    /// Hands the record of every request to a sink, from the next request on.
    pub fn add_sink(&self, sink: Arc<dyn RequestSink>) {
        self.context.add_sink(sink);
    }

    /// The TLS acceptor, if TLS is configured.
    pub(crate) fn tls(&self) -> Option<TlsAcceptorHandle> {
        self.tls.clone()
    }

    /// The context that the operator listener shares.
    pub(crate) fn context(&self) -> Arc<ServerContext> {
        Arc::clone(&self.context)
    }

    /// Serves until `stop` resolves, then drains. During `grace` connections are still
    /// accepted, but the server is not ready and each HTTP/1 connection serves one more
    /// request. Requests still running when the drain timeout expires end with an error in
    /// their client's dialect.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let context = self.context;
        let mut acceptor = Acceptor::new(self.listener, Arc::clone(&context), self.tls);
        acceptor.accept_until(stop).await;
        context.leaving.trigger();
        let (grace, drain) = {
            let state = context.state.load();
            (state.server.grace, state.server.drain)
        };
        if let Some(grace) = grace {
            acceptor.accept_until(sleep(grace)).await;
        }
        let mut connections = acceptor.close().await;
        context.stopping.trigger();
        let mut all = std::pin::pin!(async { while connections.join_next().await.is_some() {} });
        if timeout(drain, all.as_mut()).await.is_err() {
            tracing::warn!("drain timeout expired: cutting the remaining responses");
            context.cut.trigger();
            let _ = timeout(FINAL_FLUSH_TIMEOUT, all).await;
        }
    }
}

/// Replaces the configuration of a running server.
#[derive(Clone)]
pub struct Handle(Arc<ServerContext>);

impl Handle {
    /// The active configuration.
    pub fn state(&self) -> Arc<GatewayState> {
        self.0.state.load_full()
    }

    /// Activates a configuration; running requests keep the one that they started with.
    pub fn swap(&self, state: Arc<GatewayState>) {
        self.0.swap(state);
    }

    /// Reports to the operator that the newest configuration file is not active, and
    /// why.
    pub(crate) fn stays(&self, reason: String) {
        self.0.stale.store(Some(Arc::new(reason)));
    }

    /// Reports to the operator that the newest configuration file is active.
    pub(crate) fn is_fresh(&self) {
        self.0.stale.store(None);
    }

    /// Reports to the operator which settings take effect only after a restart.
    pub(crate) fn notes(&self, notes: Vec<String>) {
        self.0.notes.store(Arc::new(notes));
    }
}
