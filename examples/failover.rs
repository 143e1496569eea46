//! A chain whose head fails, with an alias in its tail.
//!
//! `cargo run --example failover`

use majordomo::fake::{Fake, Step};
use majordomo::{Error, Event, FinishReason, Registry, Request, StreamItem};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let home = Fake::new("m5");
    let busy = || Step::fail(Error::http(503, "the machine is asleep"));
    home.enqueue("qwen3:30b", [busy(), busy()]);
    let cloud = Fake::new("cloud");
    cloud.enqueue("kimi", [Step::fail(Error::http(404, "no such model"))]);
    cloud.enqueue(
        "minimax",
        [Step::reply("Hello from the tail of the chain.")],
    );

    let registry = Registry::empty();
    registry.register(home);
    registry.register(cloud.clone());
    registry.alias("thinking", "cloud/minimax")?;
    let model = registry.model("m5/qwen3:30b,cloud/kimi,thinking")?;

    let reply = model.generate(Request::user("hi").max_tokens(200)).await?;
    println!("{} (served by {})", reply.text(), reply.model);
    for attempt in &reply.attempt_log.attempts {
        println!("  {attempt}");
    }

    println!("\nThe next request skips the benched target:");
    // This stream fails before its first event, so only the attempt log shows it.
    let dying = || Step::fail(Error::http(500, "out of memory"));
    cloud.enqueue("kimi", [dying(), dying()]);
    let words = ["Streams fail over ", "until their first word."];
    let said = words.map(|word| Event::Text(word.into()));
    let done = Event::Finish(FinishReason::Stop);
    cloud.enqueue("minimax", [Step::events(said.into_iter().chain([done]))]);
    let mut stream = model.stream(Request::user("and now?")).await?;
    while let Some(item) = stream.next().await {
        match item? {
            StreamItem::Text(delta) => print!("{delta}"),
            StreamItem::Response(whole) => {
                println!(" (served by {})", whole.model);
                for attempt in &whole.attempt_log.attempts {
                    println!("  {attempt}");
                }
            }
            _ => {}
        }
    }
    Ok(())
}
