//! An agent that uses the tools of an MCP server.
//!
//! `cargo run --features mcp --example mcp`. The example is its own server.

use std::io::{BufRead, Write};

use majordomo::agent::{Agent, McpServer};
use majordomo::fake::{Fake, Step};
use majordomo::{Part, Registry, Response, ToolCall};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return serve();
    }
    let mut command = tokio::process::Command::new(std::env::current_exe()?);
    command.arg("serve");
    let server = McpServer::stdio(command).await?; // or McpServer::http(url)

    let fake = Fake::new("scripted");
    let call = ToolCall::new("a", "stock", r#"{"fruit": "pear"}"#);
    let asks = Step::respond(Response::new(vec![Part::ToolCall(call)]));
    fake.enqueue("model", [asks, Step::reply("There are 12 pears.")]);
    let registry = Registry::empty();
    registry.register(fake);

    let agent = Agent::builder(registry.model("scripted/model")?)
        .skill(&server)
        .build()?;
    let outcome = agent.run("How many pears are left?").await?;
    println!("{}", outcome.output);
    Ok(())
}

/// A server with one tool, without an SDK.
fn serve() -> Result<(), Box<dyn std::error::Error>> {
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let result = match request["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}}, "serverInfo": {"name": "stock", "version": "1"}}),
            Some("tools/list") => {
                json!({"tools": [{"name": "stock", "description": "Counts fruit.",
                "inputSchema": {"type": "object", "properties": {"fruit": {"type": "string"}}}}]})
            }
            Some("tools/call") => json!({"content": [{"type": "text", "text": "12"}]}),
            _ => continue, // a notification
        };
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        println!("{answer}");
        std::io::stdout().flush()?;
    }
    Ok(())
}
