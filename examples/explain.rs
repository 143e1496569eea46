//! Parses a spec and describes its targets, without calling a model.
//!
//! `cargo run --example explain -- "m5/qwen3:30b,thinking"`

use majordomo::fake::Fake;
use majordomo::spec::SpecError;
use majordomo::{Capabilities, Registry};

fn main() -> Result<(), SpecError> {
    let registry = Registry::empty();
    for name in ["m5", "ollama-cloud", "anthropic"] {
        registry.register(Fake::new(name));
    }
    let small = Fake::new("small");
    small.set_capabilities(Capabilities::text_only().with_context_window(Some(8_192)));
    registry.register(small);
    registry.alias("thinking", "anthropic/claude-opus-5-5,small/tiny")?;

    let given = std::env::args().nth(1);
    let spec = given
        .as_deref()
        .unwrap_or("m5/qwen3:30b,ollama-cloud/kimi-k2.6:cloud,thinking");
    match registry.model(spec) {
        Ok(chain) => {
            println!("{spec}");
            for (n, (target, takes)) in chain.describe().enumerate() {
                let images = if takes.takes_images() {
                    "images"
                } else {
                    "text only"
                };
                let window = takes
                    .context_window
                    .map_or("window not declared".into(), |w| format!("{w} tokens"));
                println!("  {}. {target}  ({images}, {window})", n + 1);
            }
        }
        Err(error) => println!("{error}"),
    }
    for mistake in ["thinkin", "antropic/claude", "m5/", ","] {
        if let Err(error) = registry.model(mistake) {
            println!("{mistake:?}: {error}");
        }
    }
    Ok(())
}
