//! The listener: connections in, requests on, answers out.
//!
//! The accept loop is our own, because the usual one has no timers: a silent
//! connection and a slow header end here. A request's work is a future of its
//! connection, so a client that leaves cancels everything that was begun for it.

mod admission;
mod connection;
mod context;
mod dispatch;
mod entry;
mod guarded_body;
mod head;
mod intake;
mod limits;
mod polls;
mod preface;
mod progress;
mod readiness;
mod shutdown;
mod socket;
mod tls;
mod turn;
mod write_timeout;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

pub(crate) use context::ServerContext;
pub(crate) use entry::look_in;
pub use limits::Limits;
pub(crate) use readiness::ready;
pub(crate) use tls::{Identity, TlsAcceptorHandle};

use crate::state::GatewayState;

/// How long the last words of cut answers may take.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A gateway that listens.
pub struct Server {
    listener: TcpListener,
    context: Arc<ServerContext>,
    tls: Option<TlsAcceptorHandle>,
}

impl Server {
    /// Takes the address of the configuration, and its certificate.
    pub async fn bind(state: Arc<GatewayState>) -> io::Result<Self> {
        Self::bind_with(state, Limits::default()).await
    }

    /// The same with other limits.
    pub async fn bind_with(state: Arc<GatewayState>, limits: Limits) -> io::Result<Self> {
        let files = state.server.tls.as_ref();
        let identity = files.map(Identity::load).transpose();
        let identity =
            identity.map_err(|text| io::Error::new(io::ErrorKind::InvalidInput, text))?;
        let listener = TcpListener::bind(state.server.listen).await?;
        Ok(Self {
            listener,
            context: ServerContext::new(state, limits),
            tls: identity.map(TlsAcceptorHandle::new),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The handle by which another configuration is put to work.
    pub fn handle(&self) -> Handle {
        Handle(Arc::clone(&self.context))
    }

    /// What it accepts TLS with, if it does.
    pub(crate) fn tls(&self) -> Option<TlsAcceptorHandle> {
        self.tls.clone()
    }

    /// What the operator's listener looks at.
    pub(crate) fn context(&self) -> Arc<ServerContext> {
        Arc::clone(&self.context)
    }

    /// Serves until `stop`, then lets what runs end for a while; what has not
    /// ended then is told so in its own dialect.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self {
            listener,
            context,
            tls,
        } = self;
        let room = Arc::new(Semaphore::new(context.limits.connections));
        let mut connections = JoinSet::new();
        tokio::pin!(stop);
        loop {
            // Without room nobody is accepted; the system lets them wait.
            let accepted = async {
                let place = Arc::clone(&room).acquire_owned().await;
                (listener.accept().await, place)
            };
            tokio::select! {
                (accepted, place) = accepted => match accepted {
                    Ok((stream, peer)) => {
                        let serving = connection::serve(stream, peer, Arc::clone(&context), tls.clone());
                        let serving = async move {
                            serving.await;
                            drop(place);
                        };
                        connections.spawn(context.polls.watch(serving));
                    }
                    Err(error) => {
                        // Out of file descriptors, most likely: others must end first.
                        tracing::warn!(reason = %error, "a connection could not be accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
                Some(_) = connections.join_next() => {}
                () = &mut stop => break,
            }
        }
        let drain = context.state.load().server.drain;
        drop(listener);
        context.stopping.trigger();
        let mut all = std::pin::pin!(async { while connections.join_next().await.is_some() {} });
        if timeout(drain, all.as_mut()).await.is_err() {
            tracing::warn!("answers that took too long are cut");
            context.cut.trigger();
            let _ = timeout(LAST_WORDS, all).await;
        }
    }
}

/// Changes the configuration of a running server.
#[derive(Clone)]
pub struct Handle(Arc<ServerContext>);

impl Handle {
    /// The configuration at work.
    pub fn state(&self) -> Arc<GatewayState> {
        self.0.state.load_full()
    }

    /// Puts another configuration to work; requests that run keep theirs.
    pub fn swap(&self, state: Arc<GatewayState>) {
        self.0.swap(state);
    }

    /// Tells the operator that the file's newest version is not at work, and why.
    pub(crate) fn stays(&self, reason: String) {
        self.0.stale.store(Some(Arc::new(reason)));
    }

    /// Tells the operator that the file's newest version is at work.
    pub(crate) fn is_fresh(&self) {
        self.0.stale.store(None);
    }

    /// Tells the operator what of the file at work waits for a restart.
    pub(crate) fn notes(&self, notes: Vec<String>) {
        self.0.notes.store(Arc::new(notes));
    }
}
