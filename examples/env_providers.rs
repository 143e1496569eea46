//! Providers from `LLM_*` variables, with a custom scheme.
//!
//! `LLM_BOX='fake://token@box.example.com?images=false' cargo run --example env_providers`

use std::collections::BTreeMap;
use std::sync::Arc;

use majordomo::fake::{Fake, Step};
use majordomo::{Capabilities, Error, Registry, Request};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let mut variables: BTreeMap<String, String> = std::env::vars()
        .filter(|(name, _)| name.starts_with("LLM_"))
        .collect();
    let examples = [
        ("LLM_BOX", "fake://token@box.example.com?images=false"),
        ("LLM_TYPO", "fakee://box.example.com"),
        ("LLM_BROKEN", "no scheme at all"),
    ];
    for (name, dsn) in examples {
        variables.entry(name.into()).or_insert(dsn.into());
    }

    let registry = Registry::builder()
        .environment(variables.clone())
        .scheme("fake", |name, dsn| {
            let fake = Fake::new(name);
            let mut capabilities = Capabilities::default();
            dsn.options.apply(&mut capabilities);
            fake.set_capabilities(capabilities);
            let address = dsn.base_url();
            fake.otherwise(move |_| Step::reply(format!("hello from {address}")));
            Ok(Arc::new(fake))
        })
        .build();

    let reply = registry
        .model("box/any-model")?
        .generate(Request::user("hi"))
        .await?;
    println!("{} (served by {})", reply.text(), reply.model);
    if let Err(problems) = registry.load_env(&variables) {
        println!("unusable: {problems}");
    }
    if let Err(error) = registry.model("typo/x") {
        println!("on use: {error}");
    }
    Ok(())
}
