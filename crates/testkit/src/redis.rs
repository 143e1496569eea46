//! A Redis or Valkey server for a single test.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::started;

/// A server that keeps nothing on disk; it ends with the test.
#[derive(Debug)]
pub struct Redis {
    program: PathBuf,
    address: SocketAddr,
    /// Certificate and key.
    tls: Option<(PathBuf, PathBuf)>,
    child: Option<Child>,
}

impl Redis {
    /// Starts the server that `tests/cluster/run` names; `None` elsewhere.
    pub fn start() -> Option<Self> {
        Self::start_with(None)
    }

    /// The same with TLS only, with a certificate and its key in PEM.
    pub fn start_tls(certificate: PathBuf, key: PathBuf) -> Option<Self> {
        Self::start_with(Some((certificate, key)))
    }

    fn start_with(tls: Option<(PathBuf, PathBuf)>) -> Option<Self> {
        let program = started("MAJORDOMO_REDIS_SERVER")?.into();
        let free = TcpListener::bind(("127.0.0.1", 0)).expect("loopback can be bound");
        let address = free.local_addr().expect("a bound socket has an address");
        drop(free);
        let mut server = Self {
            program,
            address,
            tls,
            child: None,
        };
        server.restart_empty();
        Some(server)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its address as a URL.
    pub fn url(&self) -> String {
        format!("redis://{}/0", self.address)
    }

    /// Kills it and starts an empty one in its place.
    pub fn restart_empty(&mut self) {
        self.stop();
        let port = self.address.port().to_string();
        let mut command = Command::new(&self.program);
        match &self.tls {
            None => command.args(["--port", &port]),
            Some((certificate, key)) => command
                .args([
                    "--port",
                    "0",
                    "--tls-port",
                    &port,
                    "--tls-auth-clients",
                    "no",
                ])
                .arg("--tls-cert-file")
                .arg(certificate)
                .arg("--tls-key-file")
                .arg(key),
        };
        let child = command
            .args(["--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", "no", "--daemonize", "no"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.child = Some(child.expect("the server starts"));
        // Only a connection shows that it is listening.
        while TcpStream::connect(self.address).is_err() {
            let ended = self.child.as_mut().map(Child::try_wait);
            assert!(
                matches!(ended, Some(Ok(None))),
                "the server ended: {ended:?}"
            );
            std::thread::yield_now();
        }
    }

    fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.stop();
    }
}
