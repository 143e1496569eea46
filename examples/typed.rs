//! Responses of a Rust type: repaired once, then failed over, streamed as they grow.
//!
//! `cargo run --example typed`, or with a real model:
//! `SPEC=ollama/qwen3:30b cargo run --example typed`

use majordomo::agent::{ObjectItem, TypedOutput};
use majordomo::fake::{Fake, Step};
use majordomo::{Registry, Request, Result};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only printed")]
struct Recipe {
    title: String,
    /// In minutes.
    #[schemars(range(min = 1, max = 600))]
    time: u32,
    ingredients: Vec<String>,
}

const SOUP: &str = r#"{"title": "Soup", "time": 30, "ingredients": ["leek", "salt"]}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let registry = Registry::from_env();
    registry.register(scripted());
    let spec = std::env::var("SPEC").unwrap_or("scripted/small,scripted/large".into());
    let model = registry.model(&spec)?;
    let request = Request::user("A recipe for leek soup, please.");

    // `model.generate_as::<Recipe>(request)` returns the recipe alone.
    let output = TypedOutput::<Recipe>::new()?;
    let answer = output.generate(&model, request.clone()).await?;
    println!("{:?}", answer.value);
    for attempt in &answer.response.attempt_log.attempts {
        println!("  {attempt}");
    }

    let mut stream = model.stream_as::<Recipe>(request).await?;
    while let Some(item) = stream.next().await {
        match item? {
            ObjectItem::Partial(value) => println!("  {value}"),
            ObjectItem::Done(answer) => println!("done: {}", answer.value.title),
        }
    }
    Ok(())
}

/// A chain whose head returns invalid JSON twice.
fn scripted() -> Fake {
    let fake = Fake::new("scripted");
    let wrong = r#"{"title": "Soup", "time": "half an hour", "ingredients": []}"#;
    fake.enqueue("small", [Step::reply(wrong), Step::reply("Sorry!")]);
    fake.otherwise(|_| Step::reply(format!("```json\n{SOUP}\n```")));
    fake
}
