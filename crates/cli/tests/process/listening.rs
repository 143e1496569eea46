//! The addresses on which a gateway listens, and its messages about them.

use std::process::Stdio;

use majordomo_testkit::{ClosedPort, PemIdentity};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::gateway::{GatewayCommand, TIMEOUT};

/// Starts `majordomo serve` in an empty environment; returns the lines that it prints, up
/// to the command to try.
async fn serve(arguments: &[&str]) -> (Child, Vec<String>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_majordomo"))
        .arg("serve")
        .args(arguments)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("the command was built");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut printed = Vec::new();
    let reading = async {
        while let Ok(Some(line)) = lines.next_line().await {
            let last = line.starts_with("  curl ");
            printed.push(line);
            if last {
                break;
            }
        }
    };
    timeout(TIMEOUT, reading).await.expect("it starts");
    (child, printed)
}

fn find<'a>(printed: &'a [String], start: &str) -> &'a str {
    let found = printed.iter().find_map(|line| line.strip_prefix(start));
    found.unwrap_or_else(|| panic!("no {start:?} in {printed:?}"))
}

#[tokio::test]
async fn a_port_is_enough_and_port_0_prints_what_it_got() {
    for listen in ["0", ":0", "localhost:0", "127.0.0.1:0"] {
        let (_child, printed) = serve(&["--listen", listen, "--operator-listen", listen]).await;
        let line = find(&printed, "listening on http://127.0.0.1:");
        let (port, operator) = line
            .split_once(", operator API on http://127.0.0.1:")
            .expect("both addresses");
        let port: u16 = port.parse().expect("a port");
        assert!(port > 0 && operator.parse::<u16>().expect("a port") > 0);
        let curl = find(&printed, "  curl ");
        let url = format!("http://127.0.0.1:{port}/v1/chat/completions ");
        assert!(curl.starts_with(&url), "{curl}");
    }
}

#[tokio::test]
async fn a_second_gateway_needs_two_other_ports_and_the_error_says_so() {
    let taken = ClosedPort::hold();
    let (_first, printed) = serve(&["--listen", "0", "--operator-listen", "0"]).await;
    drop(taken);
    let line = find(&printed, "listening on ");
    let operator = line.rsplit_once('/').expect("an address").1;
    let output = Command::new(env!("CARGO_BIN_EXE_majordomo"))
        .args(["serve", "--listen", "0", "--operator-listen", operator])
        .env_clear()
        .output();
    let output = timeout(TIMEOUT, output).await.expect("it ends");
    let stderr = String::from_utf8(output.expect("it runs").stderr).expect("text");
    let start = format!("error: cannot listen for the operator on {operator}: ");
    assert!(
        stderr.starts_with(&start) && stderr.contains("--operator-listen"),
        "{stderr}"
    );
}

#[tokio::test]
async fn an_unusable_address_is_one_sentence() {
    let output = Command::new(env!("CARGO_BIN_EXE_majordomo"))
        .args(["serve", "--listen", "http://localhost:4200"])
        .env_clear()
        .output()
        .await
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert!(
        stderr.starts_with(
            "error: invalid value 'http://localhost:4200' for '--listen <ADDRESS>': omit the scheme"
        ) && stderr.lines().count() == 1,
        "{stderr}"
    );
}

#[tokio::test]
async fn over_tls_the_command_to_try_trusts_the_certificate() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| {
        let path = folder.path().join(name);
        path.to_str().expect("a path of text").to_owned()
    };
    let (cert, key, config) = (path("c.pem"), path("k.pem"), path("majordomo.toml"));
    let text = format!("[server]\ntls = {{ cert = \"{cert}\", key = \"{key}\" }}\n");
    std::fs::write(&config, text).expect("a file");
    for (name, host, resolve) in [
        ("127.0.0.1", "127.0.0.1", false),
        ("localhost", "localhost", false),
        ("chat.example", "chat.example", true),
    ] {
        let identity = PemIdentity::new(name);
        std::fs::write(&cert, identity.cert).expect("a file");
        std::fs::write(&key, identity.key).expect("a file");
        let arguments = [
            "--config",
            &config,
            "--listen",
            "0",
            "--operator-listen",
            "0",
        ];
        let (_child, printed) = serve(&arguments).await;
        let listening = find(&printed, "listening on https://127.0.0.1:");
        let port = listening.split(',').next().expect("a port");
        let resolve = match resolve {
            true => format!(" -H 'host: localhost' --resolve {host}:{port}:127.0.0.1"),
            false => String::new(),
        };
        let curl = find(&printed, "  curl ");
        let expected =
            format!("--cacert {cert}{resolve} https://{host}:{port}/v1/chat/completions ");
        assert!(curl.starts_with(&expected), "{curl}\n{expected}");
    }
}

#[tokio::test]
async fn a_model_list_that_fails_to_load_is_logged_once() {
    let gone = ClosedPort::hold();
    let gateway = GatewayCommand::with(format!(
        "[providers.up]\nkind = \"openai\"\nbase_url = \"http://{}\"\napi_key = \"CANARY-upstream\"\n",
        gone.address()
    ))
    .start()
    .await;
    let line = "the model list failed to load";
    gateway.log_until(line).await;
    for _ in 0..3 {
        let request = "GET /v1/models HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        gateway.send(request).await;
    }
    gateway.assert_alive().await;
    let log = gateway.log();
    let lines: Vec<&str> = log.lines().filter(|it| it.contains(line)).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(
        lines[0].contains("WARN") && lines[0].contains("provider=\"up\""),
        "{log}"
    );
    assert!(!log.contains("CANARY"), "{log}");
}
