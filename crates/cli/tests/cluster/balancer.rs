//! A plain TCP load balancer: round robin over the servers that are in service, and the next
//! one if a connection is refused.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

pub(crate) struct Balancer {
    pub(crate) address: SocketAddr,
    servers: Arc<Mutex<Vec<SocketAddr>>>,
    task: JoinHandle<()>,
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Balancer {
    pub(crate) async fn start(servers: Vec<SocketAddr>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("loopback");
        let address = listener.local_addr().expect("an address");
        let next = Arc::<AtomicUsize>::default();
        let servers = Arc::new(Mutex::new(servers));
        let in_service = Arc::clone(&servers);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let servers = in_service.lock().expect("not poisoned").clone();
                connections.spawn(relay(client, servers, Arc::clone(&next)));
                while connections.try_join_next().is_some() {}
            }
        });
        Self {
            address,
            servers,
            task,
        }
    }

    /// Sends a server nothing new.
    pub(crate) fn remove(&self, server: SocketAddr) {
        let mut servers = self.servers.lock().expect("not poisoned");
        servers.retain(|other| *other != server);
    }

    /// Puts a server into service.
    pub(crate) fn add(&self, server: SocketAddr) {
        self.servers.lock().expect("not poisoned").push(server);
    }
}

async fn relay(mut client: TcpStream, servers: Vec<SocketAddr>, next: Arc<AtomicUsize>) {
    let first = next.fetch_add(1, Relaxed);
    for number in 0..servers.len() {
        let server = servers[(first + number) % servers.len()];
        if let Ok(mut server) = TcpStream::connect(server).await {
            let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            return;
        }
    }
}
