//! The accept loop, and its end: no connection that a client considers established is
//! lost.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::connection;
use super::context::ServerContext;
use super::tls::TlsAcceptorHandle;

/// Time for handshakes that have begun when the listener closes.
#[cfg(target_os = "linux")]
const HANDSHAKES: Duration = Duration::from_millis(50);

/// A listener and the connections that it accepted.
pub(super) struct Acceptor {
    listener: TcpListener,
    connections: Connections,
}

struct Connections {
    context: Arc<ServerContext>,
    tls: Option<TlsAcceptorHandle>,
    slots: Arc<Semaphore>,
    running: JoinSet<()>,
}

impl Acceptor {
    pub(super) fn new(
        listener: TcpListener,
        context: Arc<ServerContext>,
        tls: Option<TlsAcceptorHandle>,
    ) -> Self {
        let connections = Connections {
            slots: Arc::new(Semaphore::new(context.limits.connections)),
            context,
            tls,
            running: JoinSet::new(),
        };
        Self {
            listener,
            connections,
        }
    }

    /// Accepts connections until `end` resolves.
    pub(super) async fn accept_until(&mut self, end: impl Future<Output = ()>) {
        let Self {
            listener,
            connections,
        } = self;
        let mut end = pin!(end);
        loop {
            // At the connection limit, new connections wait in the kernel's backlog.
            let accepted = async {
                let slot = Arc::clone(&connections.slots).acquire_owned().await;
                (listener.accept().await, slot)
            };
            tokio::select! {
                (accepted, slot) = accepted => match accepted {
                    Ok((stream, peer)) => connections.serve(stream, peer, slot.ok()),
                    Err(error) => {
                        // Most likely out of file descriptors: wait for connections to
                        // close.
                        tracing::warn!(reason = %error, "a connection could not be accepted");
                        sleep(Duration::from_millis(50)).await;
                    }
                },
                Some(_) = connections.running.join_next() => {}
                () = &mut end => return,
            }
        }
    }

    /// Stops listening and returns the running connections, among them those that waited
    /// to be accepted: closing a listener resets its backlog.
    pub(super) async fn close(mut self) -> JoinSet<()> {
        #[cfg(target_os = "linux")]
        if refuse_handshakes(&self.listener) {
            self.accept_until(sleep(HANDSHAKES)).await;
        }
        let mut connections = self.connections;
        // The readiness that the runtime knows may be older than the backlog.
        match self.listener.into_std() {
            Ok(listener) => connections.serve_backlog(&listener),
            Err(error) => {
                tracing::warn!(reason = %error, "connections that were not accepted are lost");
            }
        }
        connections.running
    }
}

impl Connections {
    fn serve(&mut self, stream: TcpStream, peer: SocketAddr, slot: Option<OwnedSemaphorePermit>) {
        let (context, slots) = (Arc::clone(&self.context), Arc::clone(&self.slots));
        let serving = connection::serve(stream, peer, Arc::clone(&context), self.tls.clone());
        let serving = async move {
            let _slot = match slot {
                Some(slot) => Some(slot),
                None => slots.acquire_owned().await.ok(),
            };
            serving.await;
        };
        self.running.spawn(context.polls.watch(serving));
    }

    /// Accepts all that the kernel has queued; what exceeds the connection limit waits
    /// for its turn here.
    fn serve_backlog(&mut self, listener: &std::net::TcpListener) {
        loop {
            match listener.accept() {
                Ok((stream, peer)) => {
                    let nonblocking = stream.set_nonblocking(true);
                    if let Ok(stream) = nonblocking.and_then(|()| TcpStream::from_std(stream)) {
                        self.serve(stream, peer, None);
                    }
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return,
                    ErrorKind::ConnectionAborted | ErrorKind::Interrupted => {}
                    _ => {
                        tracing::warn!(reason = %error, "connections that were not accepted are lost");
                        return;
                    }
                },
            }
        }
    }
}

/// Drops the first packet of every new handshake, so that the backlog cannot grow between
/// the last accept and the close; handshakes that have begun complete. The client repeats
/// the packet a second later and finds the port closed.
#[cfg(target_os = "linux")]
fn refuse_handshakes(listener: &TcpListener) -> bool {
    use socket2::{SockFilter, SockRef};

    const LOAD_BYTE: u16 = 0x30;
    const AND: u16 = 0x54;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    /// Where a TCP header has its flags, RFC 9293, section 3.1.
    const FLAGS: u32 = 13;
    const SYN: u32 = 0x02;
    const ACK: u32 = 0x10;

    let filter = [
        SockFilter::new(LOAD_BYTE, 0, 0, FLAGS),
        SockFilter::new(AND, 0, 0, SYN | ACK),
        SockFilter::new(JUMP_IF_EQUAL, 0, 1, SYN),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ];
    SockRef::from(listener).attach_filter(&filter).is_ok()
}
