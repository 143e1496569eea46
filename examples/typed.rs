//! Responses of a Rust type: repaired once, then failed over, streamed as they grow.
//!
//! `cargo run --example typed`, or with a real model:
//! `SPEC=ollama/qwen3:30b cargo run --example typed`

use majordomo::agent::{ObjectItem, TypedOutput};
use majordomo::fake::{Fake, Step};
use majordomo::{Chain, Error, Event, FinishReason, Registry, Request};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only printed")]
struct Recipe {
    title: String,
    /// In minutes.
    #[schemars(range(min = 1, max = 600))]
    time: u32,
    ingredients: Vec<Ingredient>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only printed")]
struct Ingredient {
    name: String,
    /// With its unit; `None` for "to taste".
    amount: Option<String>,
}

const SOUP: &str = r#"{"title": "Soup", "time": 30, "ingredients": [
    {"name": "leek", "amount": "2"}, {"name": "salt", "amount": null}]}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let model = model()?;
    let request = Request::user("A recipe for leek soup, please.");

    let output = TypedOutput::<Recipe>::new()?;
    let answer = output.generate(&model, request.clone()).await?;
    println!("{:#?}", answer.value);
    for attempt in &answer.response.attempt_log.attempts {
        println!("  {attempt}");
    }

    println!("\nThe same, as it grows:");
    let mut stream = model.stream_as::<Recipe>(request).await?;
    while let Some(item) = stream.next().await {
        match item? {
            ObjectItem::Partial(value) => println!("  {value}"),
            ObjectItem::Done(answer) => println!("done: {}", answer.value.title),
        }
    }
    Ok(())
}

/// The model of `SPEC`, or a scripted chain whose head returns invalid JSON.
fn model() -> Result<Chain, Error> {
    let registry = Registry::from_env();
    if let Ok(spec) = std::env::var("SPEC") {
        return Ok(registry.model(&spec)?);
    }
    let fake = Fake::new("scripted");
    let wrong = r#"{"title": "Soup", "time": "half an hour", "ingredients": []}"#;
    fake.enqueue("small", [Step::reply(wrong), Step::reply("Sorry!")]);
    fake.enqueue("large", [Step::reply(format!("```json\n{SOUP}\n```"))]);
    let words = SOUP.split_inclusive(' ').map(|w| Event::Text(w.into()));
    let finish = Event::Finish(FinishReason::Stop);
    fake.enqueue("small", [Step::events(words.chain([finish]))]);
    registry.register(fake);
    Ok(registry.model("scripted/small,scripted/large")?)
}
