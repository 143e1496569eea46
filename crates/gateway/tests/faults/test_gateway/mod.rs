//! Test gateway, raw client, and the invariants checked after every case.

mod client;
mod fixtures;
mod oracles;
mod record;
mod secure;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use majordomo_gateway::{Gateway, Limits, ServeOptions};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub(crate) use client::Client;
pub(crate) use fixtures::*;
use oracles::OpenResources;
pub(crate) use record::{lines_of, logged};
pub(crate) use secure::secure;

/// Timeout that only a broken gateway reaches.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs one case. Cases are serialized, because they count the process's resources.
pub(crate) fn case(work: impl Future<Output = ()>) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    record::begin();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime can be made").block_on(work);
}

/// Adds the demo provider, which the check after every case calls.
fn with_demo(config: &str) -> String {
    let named = config.contains("[providers.") && !config.contains("[providers.demo]");
    let demo = if named { "\n[providers.demo]\n" } else { "" };
    format!("{config}{demo}")
}

/// A running gateway. Each case ends with [`assert_invariants`](Self::assert_invariants).
pub(crate) struct TestGateway {
    pub(crate) address: SocketAddr,
    pub(crate) operator: SocketAddr,
    folder: tempfile::TempDir,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
    plain: bool,
    before: Option<OpenResources>,
}

impl TestGateway {
    /// Starts a gateway with this configuration.
    pub(crate) async fn start(config: &str) -> Self {
        Self::with(config, Limits::default()).await
    }

    /// With other limits.
    pub(crate) async fn with(config: &str, limits: Limits) -> Self {
        Self::with_environment(config, limits, BTreeMap::new()).await
    }

    /// With environment variables.
    pub(crate) async fn with_environment(
        config: &str,
        limits: Limits,
        environment: BTreeMap<String, String>,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file = folder.path().join("majordomo.toml");
        std::fs::write(&file, with_demo(config)).expect("a file can be written");
        let options = ServeOptions::default()
            .with_config(Some(file))
            .with_listen(Some(([127, 0, 0, 1], 0).into()))
            .with_operator_listen(None);
        let started = Gateway::start_with(&options, environment, limits).await;
        let gateway = started.unwrap_or_else(|error| panic!("{error}"));
        let (stop, stopped) = oneshot::channel();
        let mut server = Self {
            address: gateway.address().expect("it listens"),
            operator: gateway.operator_address().expect("it listens"),
            running: Some(tokio::spawn(gateway.run(async {
                let _ = stopped.await;
            }))),
            stop: Some(stop),
            plain: !config.contains("tls ="),
            before: None,
            folder,
        };
        // Initialize lazily created resources before counting.
        server.assert_alive().await;
        server
            .poll_operator_until("/metrics", "majordomo_open_requests 0")
            .await;
        server.before = Some(OpenResources::now());
        server
    }

    /// Ends the case: drops `others` and checks the invariants.
    pub(crate) async fn assert_invariants<T>(self, others: T) {
        self.assert_invariants_after_panics(0, others).await;
    }

    /// The same, allowing for this many deliberate panics.
    pub(crate) async fn assert_invariants_after_panics<T>(mut self, panics: usize, others: T) {
        drop(others);
        let mut pages = String::new();
        if self.running.is_some() {
            self.assert_alive().await;
            self.poll_operator_until("/metrics", "majordomo_open_requests 0")
                .await;
            for path in ["/", "/metrics", "/api/health"] {
                pages.push_str(&self.get_operator(path).await);
            }
        }
        let before = self.before.take().expect("a case ends once");
        before.is_back().await;
        oracles::nothing_panicked(panics);
        oracles::nothing_leaked(&pages);
        oracles::each_request_has_its_line();
    }

    /// Replaces the configuration file by a rename.
    pub(crate) fn rewrite(&self, config: &str) {
        let new = self.folder.path().join("new");
        std::fs::write(&new, with_demo(config)).expect("a file can be written");
        let file = self.folder.path().join("majordomo.toml");
        std::fs::rename(new, file).expect("a file can be moved");
    }

    /// Path of the configuration file, for writing in place.
    pub(crate) fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("majordomo.toml")
    }

    /// Starts the shutdown.
    pub(crate) fn stop(&mut self) {
        self.stop = None;
    }

    /// Waits for the shutdown to complete.
    pub(crate) async fn stopped(&mut self) {
        let running = self.running.take().expect("it is waited for once");
        let ended = timeout(TEST_TIMEOUT, running).await.expect("it stops");
        ended.expect("it does not panic");
    }

    pub(crate) async fn connect(&self) -> Client {
        Client::connect(self.address).await
    }

    /// Sends bytes and reads everything until the gateway closes.
    pub(crate) async fn raw(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut client = self.connect().await;
        client.send(bytes).await;
        client.rest().await
    }

    /// Sends a GET to the operator listener.
    pub(crate) async fn get_operator(&self, path: &str) -> String {
        let host = self.operator;
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {CLIENT_KEY}\r\nconnection: close\r\n\r\n"
        );
        if !self.plain {
            let stream = secure(self.operator, &[]).await;
            let mut client = Client::over(stream.expect("a TLS listener"));
            client.send(head).await;
            return client.rest().await;
        }
        let mut client = Client::connect(self.operator).await;
        client.send(head).await;
        client.rest().await
    }

    /// Polls the operator listener until the page contains `expected`.
    pub(crate) async fn poll_operator_until(&self, path: &str, expected: &str) {
        let looking = async {
            while !self.get_operator(path).await.contains(expected) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let seen = timeout(TEST_TIMEOUT, looking).await;
        seen.unwrap_or_else(|_| panic!("{path} never contains {expected}"));
    }

    /// A plain request is served; with TLS, a health check.
    pub(crate) async fn assert_alive(&self) {
        if !self.plain {
            assert_eq!(statuses(&self.get_operator("/healthz").await), [200]);
            return;
        }
        let response = self.raw(chat_request("demo/text", false)).await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    }
}

impl Drop for TestGateway {
    fn drop(&mut self) {
        let skipped = self.before.is_some() && !std::thread::panicking();
        assert!(!skipped, "a case ends with `holds`");
    }
}
