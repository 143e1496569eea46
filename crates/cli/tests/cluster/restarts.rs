//! A rolling restart of all three under load: no request fails.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::balancer::Balancer;
use crate::node::{Node, chat, status_of};
use crate::world::{NAMES, World, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_of_all_three_under_load_fails_no_request() {
    let Some(mut world) = World::start(None).await else {
        return;
    };
    let balancer = Balancer::start(world.nodes.iter().map(|node| node.address).collect()).await;
    let stop = Arc::<AtomicBool>::default();
    let mut clients = JoinSet::new();
    for client in 0..8 {
        let (address, stop) = (balancer.address, Arc::clone(&stop));
        // Some requests are still running when their gateway is told to stop.
        let model = if client % 2 == 0 { "seats" } else { "open" };
        let request = chat(model, "sk-canary-open");
        clients.spawn(async move {
            let mut statuses = BTreeMap::<u16, u64>::new();
            while !stop.load(Relaxed) {
                *statuses
                    .entry(status_of(address, &request).await)
                    .or_default() += 1;
            }
            statuses
        });
    }
    for (number, name) in NAMES.into_iter().enumerate() {
        sleep(Duration::from_millis(300)).await;
        let address = world.nodes[number].address;
        // As the pause before SIGTERM does in Kubernetes. Some requests are still running.
        balancer.remove(address);
        sleep(Duration::from_millis(50)).await;
        world.nodes[number].signal("TERM");
        let code = world.nodes[number].ended().await;
        assert_eq!(code, Some(0), "{name}: {}", world.nodes[number].log());
        world.nodes[number] = Node::start_at(name, &world.settings, address, None).await;
        let node = &world.nodes[number];
        until("it joins", async || {
            node.metric("majordomo_cluster_nodes").await == 3.0
        })
        .await;
        balancer.add(address);
    }
    stop.store(true, Relaxed);
    let mut statuses = BTreeMap::<u16, u64>::new();
    while let Some(counted) = clients.join_next().await {
        for (status, count) in counted.expect("a client") {
            *statuses.entry(status).or_default() += count;
        }
    }
    println!("statuses during a rolling restart: {statuses:?}");
    assert_eq!(statuses.keys().collect::<Vec<_>>(), [&200], "{statuses:?}");
    assert!(statuses[&200] > 100, "{statuses:?}");
}
