//! Tiers: names for chains, static and dynamic.
//!
//! `cargo run --example tiers`

use majordomo::fake::Fake;
use majordomo::registry::Resolver;
use majordomo::{BoxFuture, Error, Registry, Request};

/// Stands in for a database table that operators edit.
struct Table;

impl Resolver for Table {
    fn resolve<'a>(&'a self, alias: &'a str) -> BoxFuture<'a, Result<Option<String>, Error>> {
        Box::pin(async move {
            Ok(match alias {
                "cheap" => Some("home/small,cloud/medium".into()),
                "careful" => Some("thinking,cheap".into()),
                _ => None,
            })
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let registry = Registry::empty();
    registry.register(Fake::new("home"));
    registry.register(Fake::new("cloud"));
    registry.alias("thinking", "cloud/large")?;
    registry.resolver(Table);

    for tier in ["thinking", "cheap", "careful"] {
        let model = registry.resolve(tier).await?;
        let targets: Vec<_> = model.targets().map(|name| name.as_str()).collect();
        let reply = model.generate(Request::user("hi")).await?;
        println!("{tier}: {} → served by {}", targets.join(", "), reply.model);
    }
    Ok(())
}
