//! A TCP proxy that delays, freezes, cuts and drops one way.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// The state of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It works.
    None,
    /// Every piece arrives this much later.
    Delay(Duration),
    /// Nothing arrives and nothing fails: connections stay open, and new ones get no reply.
    /// Data that is sent during the fault arrives after it.
    Freeze,
    /// Connections are closed, and new ones as soon as they are established.
    Cut,
    /// Data from clients is lost.
    DropToServer,
    /// Data from the server is lost.
    DropToClient,
}

/// A proxy in front of a server on this machine.
///
/// Connections that lost bytes are closed when the fault ends, because their streams are
/// corrupt, as after a partition that outlasted the retransmissions.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    fault: watch::Sender<Fault>,
    task: JoinHandle<()>,
}

impl FaultProxy {
    /// Listens on a free port of 127.0.0.1.
    pub async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.expect("loopback can be bound");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let (fault, faults) = watch::channel(Fault::None);
        let task = tokio::spawn(async move {
            // Dropped with the proxy, and with it every connection.
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(relay(client, server, faults.clone()));
                while connections.try_join_next().is_some() {}
            }
        });
        Self {
            address,
            fault,
            task,
        }
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Begins a fault, or ends it.
    pub fn set(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    ToServer,
    ToClient,
}

async fn relay(client: TcpStream, server: SocketAddr, faults: watch::Receiver<Fault>) {
    let mut thawed = faults.clone();
    // A frozen host completes no handshake that matters.
    if thawed
        .wait_for(|fault| *fault != Fault::Freeze)
        .await
        .is_err()
    {
        return;
    }
    if *thawed.borrow() == Fault::Cut {
        return;
    }
    let Ok(server) = TcpStream::connect(server).await else {
        return;
    };
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let spoiled = Arc::<AtomicBool>::default();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let mut ends = faults.clone();
    let ended = async {
        loop {
            let fault = *ends.borrow_and_update();
            let lost = spoiled.load(Ordering::Relaxed);
            let over = !matches!(fault, Fault::DropToServer | Fault::DropToClient);
            if fault == Fault::Cut || (lost && over) || ends.changed().await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = pump(from_client, to_server, Direction::ToServer, faults.clone(), &spoiled) => {}
        () = pump(from_server, to_client, Direction::ToClient, faults.clone(), &spoiled) => {}
        () = ended => {}
    }
}

async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    direction: Direction,
    mut faults: watch::Receiver<Fault>,
    spoiled: &AtomicBool,
) {
    let mut space = vec![0; 16 << 10];
    loop {
        let Ok(count @ 1..) = from.read(&mut space).await else {
            return;
        };
        if faults
            .wait_for(|fault| *fault != Fault::Freeze)
            .await
            .is_err()
        {
            return;
        }
        let fault = *faults.borrow();
        match (fault, direction) {
            (Fault::Delay(time), _) => tokio::time::sleep(time).await,
            (Fault::DropToServer, Direction::ToServer)
            | (Fault::DropToClient, Direction::ToClient) => {
                spoiled.store(true, Ordering::Relaxed);
                continue;
            }
            _ => {}
        }
        if to.write_all(&space[..count]).await.is_err() {
            return;
        }
    }
}
