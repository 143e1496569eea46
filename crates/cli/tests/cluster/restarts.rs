//! A rolling restart of all three under load: no request fails.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::kept::KeptClient;
use crate::nginx::Nginx;
use crate::node::{Node, chat, status_of};
use crate::world::{NAMES, World, until};

/// How long nginx avoids a server that refused a connection: a second, and it counts in whole
/// ones. Whoever restarts the next node within it leaves nginx without any.
const AVOIDED: Duration = Duration::from_millis(2_100);

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_of_all_three_under_load_fails_no_request() {
    let Some(mut world) = World::start(None).await else {
        return;
    };
    let addresses: Vec<_> = world.nodes.iter().map(|node| node.address).collect();
    let Some(nginx) = Nginx::start(&addresses).await else {
        return;
    };
    let stop = Arc::<AtomicBool>::default();
    let mut clients = JoinSet::new();
    for client in 0..8 {
        let (way, address) = match client % 2 {
            0 => ("nginx", nginx.plain),
            _ => ("nginx that keeps connections", nginx.keeping),
        };
        // Some requests are still running when their gateway is told to stop.
        let model = if client < 4 { "seats" } else { "open" };
        let (request, stop) = (chat(model, "sk-canary-open"), Arc::clone(&stop));
        clients.spawn(async move {
            let mut statuses = BTreeMap::<u16, u64>::new();
            while !stop.load(Relaxed) {
                let status = status_of(address, &request).await;
                *statuses.entry(status).or_default() += 1;
            }
            (way, statuses)
        });
    }
    for client in 0..6 {
        let mut kept = KeptClient::new(addresses.clone(), client);
        let request = chat("open", "sk-canary-open").replace("connection: close\r\n", "");
        let stop = Arc::clone(&stop);
        clients.spawn(async move {
            let mut statuses = BTreeMap::<u16, u64>::new();
            while !stop.load(Relaxed) {
                let status = kept.status_of(&request).await;
                *statuses.entry(status).or_default() += 1;
                sleep(Duration::from_millis(2)).await;
            }
            ("kept connections", statuses)
        });
    }
    for (number, name) in NAMES.into_iter().enumerate() {
        sleep(Duration::from_millis(300)).await;
        let address = world.nodes[number].address;
        // Nothing was told to the balancer.
        world.nodes[number].signal("TERM");
        let code = world.nodes[number].ended().await;
        assert_eq!(code, Some(0), "{name}: {}", world.nodes[number].log());
        world.nodes[number] = Node::start_at(name, &world.settings, address, None).await;
        let node = &world.nodes[number];
        until("it joins", async || {
            node.metric("majordomo_cluster_nodes").await == 3.0
        })
        .await;
        sleep(AVOIDED).await;
    }
    stop.store(true, Relaxed);
    let mut ways = BTreeMap::<&str, BTreeMap<u16, u64>>::new();
    while let Some(counted) = clients.join_next().await {
        let (way, counted) = counted.expect("a client");
        for (status, count) in counted {
            *ways.entry(way).or_default().entry(status).or_default() += count;
        }
    }
    println!("statuses during a rolling restart: {ways:?}");
    assert_eq!(ways.len(), 3);
    for (way, statuses) in ways {
        assert_eq!(statuses.keys().collect::<Vec<_>>(), [&200], "{way}");
        assert!(statuses[&200] > 100, "{way}: {statuses:?}");
    }
}
