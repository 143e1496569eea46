//! Observes attempts, benches and recoveries, for logs and metrics.
//!
//! `cargo run --example observer`

use std::sync::Arc;

use majordomo::fake::{Fake, Step};
use majordomo::observe::Notice;
use majordomo::{Error, Registry, Request};

#[tokio::main(flavor = "current_thread")]
async fn main() -> majordomo::Result<()> {
    let registry = Registry::builder()
        .observer(Arc::new(|notice: &Notice<'_>| match notice {
            Notice::Served { target } => println!("{target} served"),
            Notice::Failed { target, class, .. } => println!("{target} failed: {class:?}"),
            Notice::Benched { subject, wait, .. } => println!("{subject} benched for {wait:?}"),
            _ => {}
        }))
        .build();
    let fake = Fake::new("scripted");
    let busy = || Step::fail(Error::http(503, "busy"));
    fake.enqueue("first", [busy(), busy()]);
    registry.register(fake);

    let model = registry.model("scripted/first,scripted/second")?;
    let reply = model.generate(Request::user("hi")).await?;
    println!("{}", reply.text());
    Ok(())
}
