//! An agent with two tools.
//!
//! `cargo run --example agent`, or with a real model:
//! `SPEC=ollama/qwen3:30b cargo run --example agent`

use majordomo::agent::{Agent, Decision, tool};
use majordomo::fake::{Fake, Step};
use majordomo::{Part, Registry, Response, ToolCall};

/// Looks up how many of a fruit are in stock.
#[tool]
async fn stock(
    /// In the singular.
    fruit: String,
) -> Result<u32, String> {
    match fruit.as_str() {
        "pear" => Ok(12),
        other => Err(format!("there is no fruit called {other}")),
    }
}

/// Orders more of a fruit.
#[tool(timeout_secs = 10)]
async fn order(fruit: String, count: u32) -> String {
    format!("ordered {count} {fruit}s")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = Registry::from_env();
    registry.register(scripted());
    let spec = std::env::var("SPEC").unwrap_or("scripted/model".into());
    let agent = Agent::builder(registry.model(&spec)?)
        .system("You run a fruit shop.")
        .tool(stock())
        .tool(order())
        .approve(|call: &ToolCall| match call.arguments.contains("1000") {
            true => Decision::Deny("too many".into()),
            false => Decision::Allow,
        })
        .build()?;
    let outcome = agent.run("Do we need pears? Order some if so.").await?;
    println!("{}", outcome.output);
    println!("({} steps)", outcome.steps.len());
    Ok(())
}

fn scripted() -> Fake {
    let call = |name: &str, arguments: &str| {
        let call = ToolCall::new(format!("{name}_1"), name, arguments);
        Step::respond(Response::new(vec![Part::ToolCall(call)]))
    };
    let fake = Fake::new("scripted");
    let looks = call("stock", r#"{"fruit": "pear"}"#);
    let orders = call("order", r#"{"fruit": "pear", "count": 20}"#);
    fake.enqueue("model", [looks, orders, Step::reply("I ordered 20 pears.")]);
    fake
}
