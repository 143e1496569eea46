//! One gateway as a process, with its own way to each store.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use majordomo_testkit::{Fault, FaultProxy};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Timeout of everything; nothing takes this long unless it is broken.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// The operator's key.
pub(crate) const OPERATOR: &str = "sk-canary-operator";

pub(crate) struct Node {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    pub(crate) operator: SocketAddr,
    pub(crate) redis: FaultProxy,
    pub(crate) postgres: FaultProxy,
    pub(crate) file: PathBuf,
    child: Child,
    folder: tempfile::TempDir,
}

/// What all nodes have in common.
#[derive(Clone)]
pub(crate) struct NodeSettings {
    pub(crate) redis: SocketAddr,
    /// The root of Redis' certificate, if it has one.
    pub(crate) root: Option<PathBuf>,
    /// The network to the stores while it starts.
    pub(crate) fault: Fault,
    pub(crate) postgres: SocketAddr,
    /// The database, as a URL with `{address}` for the server.
    pub(crate) database: String,
    /// Providers, prices, keys.
    pub(crate) config: String,
}

impl Node {
    /// Starts at an address, with a wall clock that is off by this much, such as `+1h`.
    pub(crate) async fn start_at(
        name: &'static str,
        settings: &NodeSettings,
        listen: SocketAddr,
        clock: Option<&str>,
    ) -> Self {
        let redis = FaultProxy::start(settings.redis).await;
        let postgres = FaultProxy::start(settings.postgres).await;
        redis.set(settings.fault);
        postgres.set(settings.fault);
        let state = match &settings.root {
            None => format!("redis://{}/0", redis.address()),
            Some(root) => {
                let (port, root) = (redis.address().port(), root.display());
                format!("rediss://localhost:{port}/0?sslrootcert={root}")
            }
        };
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("majordomo.toml");
        let database = settings
            .database
            .replace("{address}", &postgres.address().to_string());
        let config = format!(
            "[cluster]\nstate = \"{state}\"\nname = \"{name}\"\nnodes = 3\n\
             [ledger]\nstore = \"{database}\"\n\
             [[keys]]\nname = \"ops\"\nkey = \"{OPERATOR}\"\nrole = \"operator\"\n{}",
            settings.config
        );
        std::fs::write(&file, config).expect("a file");
        let mut command = match clock {
            None => Command::new(env!("CARGO_BIN_EXE_majordomo")),
            Some(offset) => {
                let mut command = Command::new("faketime");
                command.args(["--exclude-monotonic", "-f", offset]);
                command.arg(env!("CARGO_BIN_EXE_majordomo"));
                command
            }
        };
        let log = std::fs::File::create(folder.path().join("log")).expect("a file");
        command
            .args(["serve", "--operator-listen", "127.0.0.1:0", "--listen"])
            .arg(listen.to_string())
            .arg("--config")
            .arg(&file)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("XDG_STATE_HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true);
        let mut child = command.spawn().expect("it starts");
        let stdout = child.stdout.take().expect("a pipe");
        let mut lines = BufReader::new(stdout).lines();
        let listening = async {
            while let Ok(Some(line)) = lines.next_line().await {
                if let Some(rest) = line.strip_prefix("listening on http://") {
                    let (address, operator) = rest.split_once(", operator API on http://")?;
                    return Some((address.parse().ok()?, operator.parse().ok()?));
                }
            }
            None
        };
        let found = timeout(TIMEOUT, listening).await.ok().flatten();
        let Some((address, operator)) = found else {
            let log = std::fs::read_to_string(folder.path().join("log"));
            panic!("{name} does not start: {}", log.unwrap_or_default());
        };
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self {
            name,
            address,
            operator,
            redis,
            postgres,
            file,
            child,
            folder,
        }
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().expect("it runs").to_string();
        let sent = std::process::Command::new("kill")
            .args(["-s", name, &id])
            .status();
        assert!(sent.expect("there is a kill").success());
    }

    /// Waits until the process has exited.
    pub(crate) async fn ended(&mut self) -> Option<i32> {
        let ended = timeout(TIMEOUT, self.child.wait()).await;
        ended
            .expect("it ends")
            .expect("it can be waited for")
            .code()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// The status of a request to a model, 0 if there was no response.
    pub(crate) async fn ask(&self, model: &str, key: &str) -> u16 {
        status_of(self.address, &chat(model, key)).await
    }

    /// A request to the operator's listener: status and body.
    pub(crate) async fn operate(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             authorization: Bearer {OPERATOR}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let response = exchange(self.operator, request.as_bytes()).await;
        let (head, body) = response.split_once("\r\n\r\n").unwrap_or((&response, ""));
        (status(head), body.to_owned())
    }

    /// A metric without labels, or with these.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let (_, page) = self.operate("GET", "/metrics", "").await;
        let line = page
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let value = line.and_then(|value| value.trim().parse().ok());
        value.unwrap_or_else(|| panic!("{name} is no metric of {}", self.name))
    }
}

/// A chat request as bytes.
pub(crate) fn chat(model: &str, key: &str) -> String {
    let body = format!(
        r#"{{"model":"up/{model}","max_tokens":10,"messages":[{{"role":"user","content":"hi"}}]}}"#
    );
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         authorization: Bearer {key}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Sends a request on a new connection; its status, or 0.
pub(crate) async fn status_of(address: SocketAddr, request: &str) -> u16 {
    status(&exchange(address, request.as_bytes()).await)
}

fn status(response: &str) -> u16 {
    let code = response.split(' ').nth(1);
    code.and_then(|code| code.parse().ok()).unwrap_or(0)
}

pub(crate) async fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let talking = async {
        let mut stream = TcpStream::connect(address).await.ok()?;
        stream.write_all(request).await.ok()?;
        let mut response = Vec::new();
        stream.read_to_end(&mut response).await.ok()?;
        Some(String::from_utf8_lossy(&response).into_owned())
    };
    timeout(TIMEOUT, talking)
        .await
        .ok()
        .flatten()
        .unwrap_or_default()
}
