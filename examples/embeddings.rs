//! Embeds texts through a chain and finds the one that is nearest to a question.
//!
//! `cargo run --example embeddings`, or with a model of your own:
//! `SPEC=ollama/nomic-embed-text cargo run --example embeddings`

use majordomo::fake::{Fake, Step};
use majordomo::{Error, Registry, Result};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let registry = Registry::from_env();
    registry.register(scripted());
    registry.register(Fake::new("spare"));
    let spec = std::env::var("SPEC").unwrap_or_else(|_| "home/small,spare/small".to_owned());
    let embedder = registry.model(&spec)?;

    let texts = ["a red apple", "a green pear", "a fast car"];
    // More texts than a call takes are sent in batches, all to the same target.
    let embedded = embedder.embed(texts).await?;
    println!(
        "{} vectors of {}",
        embedded.vectors.len(),
        embedded.dimension()
    );
    println!("served by {}", embedded.model);

    // Vectors of different models cannot be compared: ask the one that served.
    let same = registry.model(&embedded.model)?;
    let question = same.embed("a green pear").await?;
    let scores = embedded
        .vectors
        .iter()
        .map(|v| cosine(v, &question.vectors[0]));
    let nearest = scores.zip(texts).max_by(|a, b| a.0.total_cmp(&b.0));
    println!("nearest: {}", nearest.map_or("none", |(_, text)| text));
    Ok(())
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Stands in for a server that is down. `spare` is another server with the same model.
fn scripted() -> Fake {
    let fake = Fake::new("home");
    let down = || Step::fail(Error::http(503, "busy"));
    fake.enqueue("small", [down(), down()]);
    fake
}
