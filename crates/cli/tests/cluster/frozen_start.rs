//! A gateway that starts while its stores do not respond.

use std::time::Duration;

use majordomo_testkit::Fault;
use tokio::time::Instant;

use crate::node::{Node, NodeSettings, chat, exchange};
use crate::world::{NAMES, World, until};

/// How long startup takes at most: it waits two seconds for the stores.
const STARTS: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_starts_without_its_stores_and_joins_when_they_respond() {
    let Some(mut world) = World::start(None).await else {
        return;
    };
    // The others have used the budget, so that the store knows it.
    assert_eq!(world.nodes[0].ask("money", "sk-canary-money").await, 200);
    world.nodes[1].signal("TERM");
    world.nodes[1].ended().await;
    let address = world.nodes[1].address;
    let frozen = NodeSettings {
        fault: Fault::Freeze,
        ..world.settings.clone()
    };
    let began = Instant::now();
    world.nodes[1] = Node::start_at(NAMES[1], &frozen, address, None).await;
    let started = began.elapsed();
    println!("started after {started:?} without its stores");
    assert!(started < STARTS, "{started:?}");
    let node = &world.nodes[1];
    assert_eq!(node.operate("GET", "/readyz", "").await.0, 200);
    assert_eq!(node.ask("open", "sk-canary-open").await, 200);
    assert_eq!(node.ask("rate", "sk-canary-rate").await, 200);
    assert_eq!(node.ask("open", "sk-unknown").await, 401);
    let asked = Instant::now();
    let refused = exchange(address, chat("money", "sk-canary-money").as_bytes()).await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.contains("\r\nretry-after: 1\r\n"), "{refused}");
    assert!(
        asked.elapsed() < Duration::from_secs(1),
        "{:?}",
        asked.elapsed()
    );
    let health = async || node.operate("GET", "/api/health", "").await.1;
    for store in ["redis", "postgres"] {
        let up = format!(r#""store":"{store}","state":"up""#);
        until("it is noticed", async || !health().await.contains(&up)).await;
    }
    for store in [&node.redis, &node.postgres] {
        store.set(Fault::None);
    }
    let healed = Instant::now();
    until("it joins", async || {
        node.metric("majordomo_cluster_nodes").await == 3.0
    })
    .await;
    for (model, key) in [("money", "sk-canary-money"), ("seats", "sk-canary-seats")] {
        until(model, async || node.ask(model, key).await == 200).await;
    }
    let took = healed.elapsed();
    println!("joined after {took:?}");
    assert!(took < Duration::from_secs(5), "{took:?}");
}
