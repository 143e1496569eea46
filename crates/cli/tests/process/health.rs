//! `majordomo health` next to a gateway.

use std::net::SocketAddr;

use majordomo_testkit::ClosedPort;
use tokio::process::Command;

use crate::gateway::GatewayCommand;

/// Runs the command against an address; returns whether it succeeded, and its output.
async fn health(address: SocketAddr, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_majordomo"));
    command.env("MAJORDOMO_CONFIG", "").env_remove("HOME");
    command.args(["health", "--listen", &address.to_string()]);
    let output = command.args(arguments).output().await.expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("text");
    (output.status.success(), text)
}

#[tokio::test]
async fn a_running_gateway_is_healthy_and_a_closed_port_is_not() {
    let gateway = GatewayCommand::default().start().await;
    assert_eq!(health(gateway.address, &[]).await, (true, "ok\n".into()));
    let ready = health(gateway.address, &["--ready"]).await;
    assert_eq!(ready, (true, "ok\n".into()));
    let port = ClosedPort::hold();
    let (healthy, text) = health(port.address(), &[]).await;
    assert!(!healthy && text.contains("no gateway on"), "{text}");
}
