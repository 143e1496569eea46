//! How a program that uses models is tested: with a scripted provider and a manual clock.
//!
//! `cargo run --example testing`

use std::sync::Arc;
use std::time::Duration;

use majordomo::clock::ManualClock;
use majordomo::fake::{Fake, Step};
use majordomo::{Error, Model, Registry, Request, Result};

/// The program: names a thing.
async fn name_it(model: &dyn Model, thing: &str) -> Result<String> {
    let request = Request::user(format!("A name for {thing}?")).max_tokens(20);
    Ok(model.generate(request).await?.text())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let clock = ManualClock::new();
    let registry = Registry::builder()
        .environment([].into()) // no provider of this machine
        .clock(Arc::new(clock.clone()))
        .build();
    let fake = Fake::new("fake");
    registry.register(fake.clone());
    let model = registry.model("fake/first,fake/second")?;

    // A queue of replies and failures for each model; `otherwise` for all further calls.
    let down = || Step::fail(Error::http(503, "down"));
    fake.enqueue("first", [down(), down(), Step::reply("Rover")]);
    fake.otherwise(|call| Step::reply(format!("{} has no idea", call.model)));
    assert_eq!(name_it(&model, "a dog").await?, "second has no idea");

    // The failing target is benched until the clock moves.
    assert_eq!(name_it(&model, "a dog").await?, "second has no idea");
    clock.advance(Duration::from_secs(6));
    assert_eq!(name_it(&model, "a dog").await?, "Rover");

    // Requests are recorded.
    assert_eq!(fake.call_count("first"), 3);
    assert_eq!(fake.calls()[0].request.prompt().max_tokens, Some(20));
    println!("ok");
    Ok(())
}
