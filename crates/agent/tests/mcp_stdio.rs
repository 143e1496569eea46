//! MCP servers over standard input and output.
//!
//! The program spawns itself as the server, so it has its own `main`. If
//! `MAJORDOMO_MCP_COMMAND` is set, it also tests the `echo` tool of that reference server.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

#[path = "it/support/mcp_server.rs"]
mod mcp_server;

use majordomo::ToolCall;
use majordomo::agent::{McpServer, Skill};
use mcp_server::Sums;
use rmcp::ServiceExt;
use rmcp::transport::stdio;
use tokio::process::Command;

const SERVE: &str = "MAJORDOMO_TEST_SERVES_MCP";
const REFERENCE: &str = "MAJORDOMO_MCP_COMMAND";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    if std::env::var_os(SERVE).is_some() {
        let server = Sums.serve(stdio()).await.unwrap();
        server.waiting().await.unwrap();
        return;
    }
    a_servers_tools_are_called_over_standard_input_and_output().await;
    a_server_that_exits_is_an_error().await;
    if let Ok(command) = std::env::var(REFERENCE) {
        the_reference_server_echoes(&command).await;
    }
}

fn myself() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(SERVE, "1");
    command
}

async fn call(server: &McpServer, name: &str, arguments: &str) -> (String, bool) {
    let call = ToolCall::new("a", name, arguments);
    let result = server.toolbox().unwrap().call(&call).await;
    (result.text(), result.is_error)
}

async fn a_servers_tools_are_called_over_standard_input_and_output() {
    let sums = McpServer::stdio(myself()).await.unwrap();
    let added = call(&sums, "math_add", r#"{"a": 2, "b": 3}"#).await;
    assert_eq!(added, ("5".into(), false));
    println!("ok: a server's tools are called over standard input and output");
}

async fn a_server_that_exits_is_an_error() {
    let mut dies = Command::new("sh");
    dies.args(["-c", "exit 3"]);
    assert!(McpServer::stdio(dies).await.is_err());
    println!("ok: a server that exits is an error");
}

async fn the_reference_server_echoes(command: &str) {
    let mut words = command.split_whitespace();
    let mut program = Command::new(words.next().unwrap());
    program.args(words);
    let server = McpServer::stdio(program).await.unwrap();
    let (text, is_error) = call(&server, "echo", r#"{"message": "hello"}"#).await;
    assert!(!is_error && text.contains("hello"), "{text}");
    println!("ok: the reference server echoes");
}
