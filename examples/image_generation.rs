//! Draws an image through a chain, then asks a chat model about it.
//!
//! `cargo run --example image_generation`, or with a model of your own:
//! `SPEC=openai/gpt-image-2 cargo run --example image_generation`

use majordomo::fake::{Fake, Step};
use majordomo::{Error, ImageRequest, Registry, Request, Result};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let registry = Registry::from_env();
    registry.register(scripted());
    registry.alias("artist", "box/sdxl,box/painter")?;
    let spec = std::env::var("SPEC").unwrap_or_else(|_| "artist".to_owned());

    let request = ImageRequest::new("a red apple on a table")
        .n(2)
        .size("256x256".parse()?)
        .seed(7);
    let drawn = registry.model(&spec)?.generate_images(request).await?;
    for attempt in &drawn.attempt_log.attempts {
        println!("{attempt}");
    }
    for change in drawn.attempt_log.changes() {
        println!("changed for the target: {change}");
    }
    for image in &drawn.images {
        println!("{} of {} bytes", image.media_type, image.data.len());
    }

    // An image goes straight back into a conversation.
    let question = drawn
        .parts()
        .fold(Request::user("What is this?"), Request::part);
    let reply = registry.model("box/eyes")?.generate(question).await?;
    println!("{}", reply.text());
    Ok(())
}

/// Stands in for a box whose first image model is down.
fn scripted() -> Fake {
    let fake = Fake::new("box");
    let down = || Step::fail(Error::http(503, "out of memory"));
    fake.enqueue("sdxl", [down(), down()]);
    fake.enqueue("eyes", [Step::reply("Two patterns, and no apple.")]);
    fake
}
