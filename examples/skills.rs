//! Skills bundle instructions with tools: two included ones and one of your own.
//!
//! `cargo run --example skills`

use majordomo::agent::{Agent, AgentEvent, SkillBuilder, calc, clock, tool};
use majordomo::fake::{Fake, Step};
use majordomo::{Part, Registry, Response, ToolCall};

/// Sends a message to a colleague.
#[tool]
async fn send(to: String, text: String) -> String {
    format!("{to} received: {text}")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let office = SkillBuilder::new("office")
        .instructions("Write to colleagues politely.")
        .tool(send())
        .build()?;
    let registry = Registry::empty();
    registry.register(scripted());
    let agent = Agent::builder(registry.model("scripted/model")?)
        .skill(&clock())
        .skill(&calc())
        .skill(&office)
        .build()?;

    let mut run = agent
        .run("Tell Ada how many seconds a leap year has.")
        .stream();
    while let Some(event) = run.next().await {
        match event {
            AgentEvent::ToolStarted { call, .. } => println!("[{}]", call.name),
            AgentEvent::ToolFinished { result, .. } => println!("[→ {}]", result.text()),
            _ => {}
        }
    }
    println!("{}", run.finish().await?.output);
    Ok(())
}

fn scripted() -> Fake {
    let call = |name: &str, arguments: &str| {
        let call = ToolCall::new(format!("{name}_1"), name, arguments);
        Step::respond(Response::new(vec![Part::ToolCall(call)]))
    };
    let fake = Fake::new("scripted");
    let counts = call("calculate", r#"{"expression": "366 * 24 * 60 * 60"}"#);
    let tells = call("send", r#"{"to": "Ada", "text": "31622400"}"#);
    fake.enqueue("model", [counts, tells, Step::reply("Ada knows.")]);
    fake
}
