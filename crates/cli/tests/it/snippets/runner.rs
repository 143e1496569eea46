//! Executes snippets next to a running gateway.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use majordomo_testkit::PemIdentity;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::page::Snippet;
use crate::support::png_image;

const BINARY: &str = env!("CARGO_BIN_EXE_majordomo");
/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request for snippets that read one from a file.
const BODY: &str =
    r#"{"model":"demo/text","max_tokens":99,"messages":[{"role":"user","content":"hello"}]}"#;

/// The gateway runs already, so `serve` only checks its configuration. `curl` fails on an
/// HTTP error.
const WRAPPER: &str = r#"#!/bin/sh
if [ "$1" = serve ]; then
  shift
  [ $# -eq 0 ] && exit 0
  exec "$BINARY" check "$@"
fi
exec "$BINARY" "$@"
"#;

/// A gateway, and a folder for snippets.
pub(super) struct Runner {
    folder: TempDir,
    /// Ends with the runner.
    _gateway: Child,
    address: String,
    operator: String,
}

impl Runner {
    /// Starts a gateway with this configuration, on free ports.
    pub(super) async fn start(config: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let free_ports = "[server]\nlisten = \"127.0.0.1:0\"\noperator_listen = \"127.0.0.1:0\"\n";
        let file = folder.path().join("gateway.toml");
        std::fs::write(&file, format!("{config}\n{free_ports}")).expect("a file");
        let mut gateway = Command::new(BINARY)
            .args(["serve", "--config"])
            .arg(&file)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the command was built");
        let stdout = gateway.stdout.take().expect("stdout is a pipe");
        let mut lines = BufReader::new(stdout).lines();
        let listening = async {
            loop {
                let line = lines.next_line().await.expect("text");
                let line = line.expect("the gateway starts");
                if let Some(found) = addresses(&line) {
                    break found;
                }
            }
        };
        let listening = tokio::time::timeout(PATIENCE, listening).await;
        let (address, operator) = listening.expect("the gateway listens");
        // The gateway writes to stdout once more; the pipe must stay open.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let runner = Self {
            folder,
            _gateway: gateway,
            address,
            operator,
        };
        runner.write_files(config);
        runner
    }

    /// Writes the files that snippets name.
    fn write_files(&self, config: &str) {
        let folder = self.folder.path();
        let write = |name: &str, content: &[u8]| {
            std::fs::write(folder.join(name), content).expect("a file");
        };
        write("majordomo.toml", config.as_bytes());
        write("body.json", BODY.as_bytes());
        write("photo.jpg", &png_image(64, 48));
        let identity = PemIdentity::new("localhost");
        write("cert.pem", identity.cert.as_bytes());
        write("key.pem", identity.key.as_bytes());
        write(".curlrc", b"silent\nshow-error\nfail\n");
        std::fs::create_dir(folder.join("bin")).expect("a folder");
        write("bin/majordomo", WRAPPER.as_bytes());
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.join("bin/majordomo"), mode).expect("permissions");
    }

    /// Checks a configuration. Each variable it refers to is set.
    pub(super) async fn check(&self, snippet: &Snippet) -> Result<(), String> {
        let file = self.folder.path().join("snippet.toml");
        std::fs::write(&file, &snippet.text).expect("a file");
        let mut command = Command::new(BINARY);
        command.args(["check", "--config", "snippet.toml"]);
        command.env_clear();
        for reference in snippet.text.split("${").skip(1) {
            let name = reference.split('}').next().unwrap_or_default();
            command.env(name, "canary-canary-canary-canary");
        }
        self.expect_success(snippet, command).await
    }

    /// Runs a shell snippet.
    pub(super) async fn run(&self, snippet: &Snippet) -> Result<(), String> {
        let text = snippet.text.replace("127.0.0.1:4100", &self.address);
        let text = text.replace("127.0.0.1:4101", &self.operator);
        let folder = self.folder.path();
        let mut command = Command::new("sh");
        command.args(["-eu", "-c", &text]).env_clear();
        command.env("PATH", path(folder)).env("BINARY", BINARY);
        command.env("HOME", folder).env("CURL_HOME", folder);
        match snippet.streams {
            true => self.expect_output(snippet, command).await,
            false => self.expect_success(snippet, command).await,
        }
    }

    /// Runs a command until its first line.
    async fn expect_output(&self, snippet: &Snippet, mut command: Command) -> Result<(), String> {
        command.current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await;
        match line {
            Ok(Ok(Some(line))) if !line.is_empty() => Ok(()),
            other => Err(format!(
                "{} prints {other:?}:\n{}",
                snippet.place(),
                snippet.text
            )),
        }
    }

    async fn expect_success(&self, snippet: &Snippet, mut command: Command) -> Result<(), String> {
        command
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let done = tokio::time::timeout(PATIENCE, command.output()).await;
        let Ok(done) = done else {
            return Err(format!(
                "{} does not end:\n{}",
                snippet.place(),
                snippet.text
            ));
        };
        let Output {
            status,
            stdout,
            stderr,
        } = done.expect("the command starts");
        if status.success() {
            return Ok(());
        }
        Err(format!(
            "{} fails ({status}):\n{}\n{}{}",
            snippet.place(),
            snippet.text,
            String::from_utf8_lossy(&stdout),
            String::from_utf8_lossy(&stderr)
        ))
    }
}

/// The wrapped command, then the system's.
fn path(folder: &Path) -> String {
    let system = std::env::var("PATH").unwrap_or_default();
    format!("{}:{system}", folder.join("bin").display())
}

/// Both addresses of `listening on http://…, operator API on http://…`.
fn addresses(line: &str) -> Option<(String, String)> {
    let rest = line.strip_prefix("listening on http://")?;
    let (address, operator) = rest.split_once(", operator API on http://")?;
    Some((address.to_owned(), operator.trim().to_owned()))
}
