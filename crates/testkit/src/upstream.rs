//! A raw-socket server that plays scripts.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::connection_log::ConnectionLog;
use crate::player::play;
use crate::{Connection, Request, Script};

/// Plays one script per connection; the last one serves all that follow. Dropping it closes
/// all connections, and fails the test if an [`expect_close`](Script::expect_close) was not
/// met.
#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    log: ConnectionLog,
    accepting: JoinHandle<()>,
}

impl Upstream {
    /// Listens on a free port of 127.0.0.1.
    pub async fn start(scripts: impl IntoIterator<Item = Script>) -> Self {
        Self::start_at("127.0.0.1:0", scripts).await
    }

    /// Listens on this loopback address.
    pub async fn start_at(address: &str, scripts: impl IntoIterator<Item = Script>) -> Self {
        let listener = TcpListener::bind(address)
            .await
            .expect("loopback can be bound");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let scripts: Vec<Script> = scripts.into_iter().collect();
        let log = ConnectionLog::default();
        let accepting = tokio::spawn(accept(listener, scripts, log.clone()));
        Self {
            address,
            log,
            accepting,
        }
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A plaintext URI with this path.
    pub fn uri(&self, path: &str) -> http::Uri {
        uri("http", &self.address.to_string(), path)
    }

    /// A TLS URI with this path. The host is `localhost`, as in the certificates of
    /// [`Authority::issue`](crate::Authority::issue).
    pub fn secure_uri(&self, path: &str) -> http::Uri {
        uri("https", &format!("localhost:{}", self.address.port()), path)
    }

    /// The connections so far.
    pub fn connections(&self) -> Vec<Connection> {
        self.log.connections()
    }

    /// The requests so far, by connection.
    pub fn requests(&self) -> Vec<Request> {
        let connections = self.connections().into_iter();
        connections.flat_map(|it| it.requests).collect()
    }

    /// Waits until the connection of this index was accepted.
    pub async fn connected(&self, index: usize, within: Duration) {
        let found = |seen: &[Connection]| seen.get(index).map(drop);
        self.log.wait("a connection", within, found).await;
    }

    /// Waits until this many requests have arrived.
    pub async fn wait_for_requests(&self, count: usize, within: Duration) {
        let asked = |seen: &[Connection]| {
            let asked: usize = seen.iter().map(|it| it.requests.len()).sum();
            (asked >= count).then_some(())
        };
        self.log.wait("the requests", within, asked).await;
    }

    /// Waits until this many POST requests have arrived; model lists and the like do not
    /// count.
    pub async fn posted(&self, count: usize, within: Duration) {
        let posted = |seen: &[Connection]| {
            let all = seen.iter().flat_map(|it| &it.requests);
            let posts = all.filter(|request| request.head.starts_with("POST "));
            (posts.count() >= count).then_some(())
        };
        self.log.wait("the posts", within, posted).await;
    }

    /// Waits until this many bytes were sent on the connection of this index.
    pub async fn sent(&self, index: usize, bytes: usize, within: Duration) {
        let sent = |seen: &[Connection]| (seen.get(index)?.bytes_sent >= bytes).then_some(());
        self.log.wait("its own bytes leave", within, sent).await;
    }

    /// Waits until the peer has closed the connection of this index; its script must be
    /// reading or writing then.
    pub async fn closed(&self, index: usize, within: Duration) {
        let closed = |seen: &[Connection]| seen.get(index)?.peer_closed.map(drop);
        self.log.wait("the peer close", within, closed).await;
    }
}

pub(crate) fn uri(scheme: &str, host: &str, path: &str) -> http::Uri {
    let text = format!("{scheme}://{host}{path}");
    text.parse().expect("a loopback address is a URI")
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.accepting.abort();
        let problems = self.log.problems();
        if !std::thread::panicking() && !problems.is_empty() {
            panic!("the upstream saw: {}", problems.join("; "));
        }
    }
}

async fn accept(listener: TcpListener, scripts: Vec<Script>, log: ConnectionLog) {
    // Aborting this task also aborts the connections.
    let mut playing = tokio::task::JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            return;
        };
        let index = log.open();
        let script = scripts.get(index).or(scripts.last()).cloned();
        playing.spawn(play(script.unwrap_or_default(), stream, index, log.clone()));
    }
}
