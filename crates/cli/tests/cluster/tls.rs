//! Rates over a Redis that is reached by TLS only.

use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::node::{chat, status_of};
use crate::world::{BURST, RATE, World};

#[tokio::test(flavor = "multi_thread")]
async fn three_gateways_share_a_rate_over_tls() {
    let Some(world) = World::start_tls().await else {
        return;
    };
    let began = Instant::now();
    let mut requests = JoinSet::new();
    for number in 0..3 * BURST as usize {
        let address = world.nodes[number % world.nodes.len()].address;
        let request = chat("rate", "sk-canary-rate");
        requests.spawn(async move { status_of(address, &request).await });
    }
    let statuses = requests.join_all().await;
    let served = statuses.iter().filter(|status| **status == 200).count() as u64;
    let refused = statuses.iter().filter(|status| **status == 429).count() as u64;
    assert_eq!(served + refused, 3 * BURST, "{statuses:?}");
    // What came back meanwhile, and one request on credit per node.
    let leaked = RATE * began.elapsed().as_millis() as u64 / 60_000;
    let most = BURST + leaked + 3;
    println!("{served} of {} over TLS, at most {most}", 3 * BURST);
    assert!(served <= most, "{served} of {most}");
    assert!(served >= BURST / 2, "only {served}");
}
