//! A hundred requests at the same time over three gateways, with a dollar left.

use std::collections::BTreeMap;

use tokio::task::JoinSet;

use crate::node::{chat, status_of};
use crate::world::{DOLLAR_PRICE, World};

const DOLLAR: u64 = 1_000_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_requests_over_three_gateways_spend_at_most_the_dollar_that_is_left() {
    let Some(world) = World::start(None).await else {
        return;
    };
    let mut requests = JoinSet::new();
    for number in 0..100 {
        let address = world.nodes[number % world.nodes.len()].address;
        let request = chat("dollar", "sk-canary-dollar");
        requests.spawn(async move { status_of(address, &request).await });
    }
    let mut statuses = BTreeMap::<u16, u64>::new();
    while let Some(status) = requests.join_next().await {
        *statuses.entry(status.expect("a client")).or_default() += 1;
    }
    let at_once = world.mock.count("dollar").requests;
    println!("a hundred requests with a dollar left: {statuses:?}, {at_once} reached the model");
    assert!(at_once * DOLLAR_PRICE <= DOLLAR, "{at_once} paid");
    assert_eq!(statuses.get(&200).copied().unwrap_or(0), at_once);
    // 503 with retry-after: a lease of the rest that the store did not grant in time.
    let refused = |status: &u16| [200, 429, 503].contains(status);
    assert!(statuses.keys().all(refused), "{statuses:?}");
    // What leases still hold can be spent, and no more.
    world.spend_the_rest("dollar", "sk-canary-dollar").await;
    let paid = world.mock.count("dollar").requests;
    assert!(paid * DOLLAR_PRICE <= DOLLAR, "{paid} paid");
    assert!(paid * DOLLAR_PRICE >= DOLLAR * 9 / 10, "only {paid} paid");
}
