//! Away from a limit no request waits for a store: with both frozen, none is counted.

use std::time::Duration;

use majordomo_testkit::Fault;
use tokio::time::{Instant, sleep};

use crate::world::{World, until};

#[tokio::test(flavor = "multi_thread")]
async fn away_from_a_limit_no_request_waits_for_a_store_although_both_are_frozen() {
    let Some(world) = World::start(None).await else {
        return;
    };
    let node = &world.nodes[0];
    let asks = [
        ("rate", "sk-canary-rate"),
        ("seats", "sk-canary-seats"),
        ("money", "sk-canary-money"),
    ];
    // The node learns the limits, and holds a part of each.
    for _ in 0..10 {
        for (model, key) in asks {
            assert_eq!(node.ask(model, key).await, 200);
        }
        sleep(Duration::from_millis(100)).await;
    }
    let before = node.metric("majordomo_store_waits_total").await;
    for store in [&node.redis, &node.postgres] {
        store.set(Fault::Freeze);
    }
    for (model, key) in asks {
        assert_eq!(node.ask(model, key).await, 200, "{model}");
    }
    let waits = node.metric("majordomo_store_waits_total").await - before;
    assert_eq!(waits, 0.0, "requests waited");
    // Redis is known to be away soon; nothing waits for it from then on.
    let health = async || node.operate("GET", "/api/health", "").await.1;
    until("it is noticed", async || {
        !health().await.contains(r#""store":"redis","state":"up""#)
    })
    .await;
    let before = node.metric("majordomo_store_waits_total").await;
    for _ in 0..5 {
        for (model, key) in &asks[..2] {
            let status = node.ask(model, key).await;
            assert!(status == 200 || status == 429, "{model}: {status}");
        }
    }
    let waits = node.metric("majordomo_store_waits_total").await - before;
    assert_eq!(
        waits, 0.0,
        "requests waited for a store that is known to be away"
    );
    assert_eq!(node.operate("GET", "/readyz", "").await.0, 200);
    for store in [&node.redis, &node.postgres] {
        store.set(Fault::None);
    }
    let healed = Instant::now();
    until("it is back", async || {
        health().await.contains(r#""store":"redis","state":"up""#)
    })
    .await;
    assert!(
        healed.elapsed() < Duration::from_secs(5),
        "{:?}",
        healed.elapsed()
    );
}
