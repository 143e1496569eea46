//! An agent with skills, observed while it works.
//!
//! `cargo run --example agent`, or with a real model:
//! `SPEC=ollama/qwen3:30b cargo run --example agent -- "What time is it in Tokyo?"`

use majordomo::agent::{Agent, AgentEvent, Decision, calc, clock, tool};
use majordomo::fake::{Fake, Step};
use majordomo::{Chain, Error, Part, Registry, Response, ToolCall};

/// Sends a message to a colleague.
#[tool(timeout_secs = 10)]
async fn send(
    /// The recipient.
    to: String,
    text: String,
) -> String {
    format!("{to} received: {text}")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::builder(model()?)
        .system("You are brief.")
        .skill(&clock())
        .skill(&calc())
        .tool(send())
        .approve(|call: &ToolCall| match call.name.as_str() {
            "send" => Decision::Deny("this is only an example".into()),
            _ => Decision::Allow,
        })
        .max_same_call(5)
        .build()?;

    let given = std::env::args().nth(1);
    let prompt = given.unwrap_or("How many seconds has a leap year? Tell Ada.".into());
    println!("> {prompt}");
    let mut run = agent.run(prompt).stream();
    while let Some(event) = run.next().await {
        match event {
            AgentEvent::Text(delta) => print!("{delta}"),
            AgentEvent::ToolStarted { call, .. } => {
                println!("[{} {}]", call.name, call.arguments);
            }
            AgentEvent::ToolFinished { result, .. } => println!("[→ {}]", result.text()),
            _ => {}
        }
    }
    let outcome = run.finish().await?;
    println!();
    println!(
        "({} steps, {} tokens)",
        outcome.steps.len(),
        outcome.usage.total()
    );
    Ok(())
}

/// The model of `SPEC`, or a scripted one.
fn model() -> Result<Chain, Error> {
    let registry = Registry::from_env();
    if let Ok(spec) = std::env::var("SPEC") {
        return Ok(registry.model(&spec)?);
    }
    let fake = Fake::new("scripted");
    let calls = |calls: &[(&str, &str)]| {
        let parts = calls.iter().enumerate().map(|(n, (name, arguments))| {
            Part::ToolCall(ToolCall::new(format!("{name}_{n}"), *name, *arguments))
        });
        Step::respond(Response::new(parts.collect()))
    };
    fake.enqueue(
        "model",
        [
            calls(&[
                ("time_now", r#"{"timezone": "Europe/Lisbon"}"#),
                ("calculate", r#"{"expression": "366 * 24 * 60 * 60"}"#),
            ]),
            calls(&[("send", r#"{"to": "Ada", "text": "31622400"}"#)]),
            Step::reply("31,622,400. I was not allowed to tell Ada."),
        ],
    );
    registry.register(fake);
    Ok(registry.model("scripted/model")?)
}
