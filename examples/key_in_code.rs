//! Providers whose keys come from your own configuration, not from the environment.
//!
//! `cargo run --example key_in_code`, or with a key, to send a request:
//! `KEY=… cargo run --example key_in_code`

use majordomo::dsn::SecretString;
use majordomo::providers::{ProviderKind, Settings};
use majordomo::transport::{Transport, TransportConfig};
use majordomo::{Provider, Registry, Request, Result};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    // One transport, with its pool of connections, for all providers.
    let transport = Transport::new(TransportConfig::default());
    let key = std::env::var("KEY").ok().map(SecretString::from);
    let hosted = Settings::new("work", transport.clone()).key(key.clone());
    let own = Settings::new("home", transport).base_url("http://127.0.0.1:8080/v1");

    let registry = Registry::empty(); // ignores the environment
    let hosted = ProviderKind::Anthropic.provider(hosted)?;
    match hosted.ready() {
        Ok(()) => println!("{} is ready", hosted.name()),
        Err(error) => println!("not ready: {error}"),
    }
    registry.register(hosted);
    registry.register(ProviderKind::OpenAi.provider(own)?);

    let model = registry.model("work/claude-opus-5-5,home/qwen3")?;
    for target in model.targets() {
        println!("{target}");
    }
    if key.is_some() {
        println!("{}", model.generate(Request::user("hi")).await?.text());
    }
    Ok(())
}
