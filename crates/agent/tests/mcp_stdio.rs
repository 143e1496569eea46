//! Tools of an MCP server that is a program: this one, started again.
//!
//! With `MAJORDOMO_MCP_COMMAND` set, the reference server that it starts is used
//! as well: its tool `echo` must echo.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support {
    pub(crate) mod mcp_server;
}

use majordomo::ToolCall;
use majordomo::agent::{McpServer, Skill};
use rmcp::ServiceExt;
use rmcp::transport::stdio;
use support::mcp_server::Sums;
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
    the_programs_tools_are_called_over_its_standard_input_and_output().await;
    a_program_that_dies_is_an_error().await;
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

async fn the_programs_tools_are_called_over_its_standard_input_and_output() {
    let sums = McpServer::stdio(myself()).await.unwrap();
    let added = call(&sums, "math_add", r#"{"a": 2, "b": 3}"#).await;
    assert_eq!(added, ("5".into(), false));
    println!("ok: the program's tools are called over its standard input and output");
}

async fn a_program_that_dies_is_an_error() {
    let mut dies = Command::new("sh");
    dies.args(["-c", "exit 3"]);
    assert!(McpServer::stdio(dies).await.is_err());
    println!("ok: a program that dies is an error");
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
