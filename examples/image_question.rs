//! A question about an image. Each target gets it in a form that fits its limits.
//!
//! `cargo run --example image_question`, or with a real model:
//! `SPEC=ollama/gemma3 cargo run --example image_question -- photo.png`

use majordomo::fake::{Fake, Step};
use majordomo::llm::ImageLimits;
use majordomo::{Capabilities, Part, Registry, Request};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let image = match std::env::args().nth(1) {
        Some(file) => std::fs::read(file)?,
        None => include_bytes!("red.png").to_vec(),
    };
    let registry = Registry::from_env();
    registry.register(scripted());
    let spec = std::env::var("SPEC").unwrap_or("scripted/blind,scripted/small".into());
    let model = registry.model(&spec)?;

    let request = Request::user("What do you see?").part(Part::image("image/png", image));
    let reply = model.generate(request).await?;
    println!("{} (served by {})", reply.text(), reply.model);
    // The target that takes no images was skipped; the other one got a smaller image.
    for attempt in &reply.attempt_log.attempts {
        println!("  {attempt}");
    }
    for change in reply.attempt_log.changes() {
        println!("  {change}");
    }
    Ok(())
}

/// One model that takes no images, and one that takes images of up to 8 pixels.
fn scripted() -> Fake {
    let fake = Fake::new("scripted");
    fake.set_model_capabilities("blind", Capabilities::text_only());
    let limits = ImageLimits::default().with_max_px(Some(8));
    let small = Capabilities::default().with_images(Some(limits));
    fake.set_model_capabilities("small", small);
    fake.enqueue("small", [Step::reply("Something red.")]);
    fake
}
