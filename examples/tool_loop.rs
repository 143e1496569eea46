//! Tool calls by hand: the loop that an agent runs for you.
//!
//! `cargo run --example tool_loop`, or with a real model:
//! `SPEC=ollama/qwen3:30b cargo run --example tool_loop`

use majordomo::agent::{Toolbox, tool};
use majordomo::fake::{Fake, Step};
use majordomo::{Message, Part, Registry, Request, Response, ToolCall};

/// The weather in a city.
#[tool]
async fn weather(
    /// The city's name.
    city: String,
) -> Result<String, String> {
    match city.as_str() {
        "Atlantis" => Err("no such city above the sea".into()),
        city => Ok(format!("21 °C and sunny in {city}")),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = Registry::from_env();
    registry.register(scripted());
    let spec = std::env::var("SPEC").unwrap_or("scripted/model".into());
    let model = registry.model(&spec)?;
    let toolbox = Toolbox::new([weather()])?;

    let mut request = Request::user("How is the weather in Lisbon and in Atlantis?");
    request.edit().tools = toolbox.definitions().cloned().collect();
    loop {
        let reply = model.generate(request.clone()).await?;
        request = request.message(reply.to_message());
        let mut results = Vec::new();
        for call in reply.tool_calls() {
            let result = toolbox.call(call).await;
            println!("{}({}) → {}", call.name, call.arguments, result.text());
            results.push(result);
        }
        if results.is_empty() {
            println!("{} (served by {})", reply.text(), reply.model);
            return Ok(());
        }
        request = request.message(Message::tool_results_message(results));
    }
}

fn scripted() -> Fake {
    let ask = |id: &str, arguments: &str| Part::ToolCall(ToolCall::new(id, "weather", arguments));
    let (lisbon, atlantis) = (r#"{"city": "Lisbon"}"#, r#"{"city": "Atlantis"}"#);
    let asks = Step::respond(Response::new(vec![ask("a", lisbon), ask("b", atlantis)]));
    let reply = Step::reply("Sunny in Lisbon; there is no report for Atlantis.");
    let fake = Fake::new("scripted");
    fake.enqueue("model", [asks, reply]);
    fake
}
