//! Text as it arrives, whole tool calls, then the complete response.
//!
//! `cargo run --example streaming`, or with a real model:
//! `SPEC=ollama/qwen3:30b cargo run --example streaming`

use std::io::Write;

use majordomo::fake::{Fake, Step};
use majordomo::{Event, FinishReason, Registry, Request, StreamItem, Usage};

#[tokio::main(flavor = "current_thread")]
async fn main() -> majordomo::Result<()> {
    let registry = Registry::from_env();
    registry.register(scripted());
    let spec = std::env::var("SPEC").unwrap_or("scripted/model".into());
    let model = registry.model(&spec)?;

    // Dropping the stream cancels the request.
    let mut stream = model.stream(Request::user("Count to three.")).await?;
    while let Some(item) = stream.next().await {
        match item? {
            StreamItem::Text(delta) => {
                print!("{delta}");
                let _ = std::io::stdout().flush();
            }
            StreamItem::ToolCall(call) => println!("[calls {}]", call.name),
            StreamItem::Response(whole) => println!(
                "\n({} tokens, served by {})",
                whole.usage.total(),
                whole.model
            ),
            _ => {}
        }
    }
    Ok(())
}

/// A provider that streams three words.
fn scripted() -> Fake {
    let fake = Fake::new("scripted");
    let words = ["One, ", "two, ", "three."].map(|word| Event::Text(word.into()));
    let end = [
        Event::Usage(Usage::new(9, 5)),
        Event::Finish(FinishReason::Stop),
    ];
    fake.enqueue("model", [Step::events(words.into_iter().chain(end))]);
    fake
}
