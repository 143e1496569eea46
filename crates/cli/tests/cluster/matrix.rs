//! Events × limits, under load. Prints a table.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::faults::Event;
use crate::node::{chat, status_of};
use crate::world::{AFFORDABLE, BURST, PRICE, RATE, SEATS, World, until};

/// A frozen key stops everywhere within this time after healing.
const CONVERGED: Duration = Duration::from_secs(5);
/// No request waits longer for a store, in seconds, on a machine that wakes in time.
const LONGEST_WAIT: f64 = 0.060;
/// A node that waited this long for its store decided by its share.
const LATE: f64 = 0.040;

/// Clients that never stop, three per node and key.
struct Load {
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    woken_late: Arc<AtomicU64>,
    clients: JoinSet<()>,
}

impl Load {
    fn start(nodes: Vec<SocketAddr>) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let sent = Arc::<AtomicU64>::default();
        let woken_late = Arc::<AtomicU64>::default();
        let mut clients = JoinSet::new();
        {
            let (stop, woken_late) = (Arc::clone(&stop), Arc::clone(&woken_late));
            clients.spawn(async move {
                let nap = Duration::from_millis(50);
                while !stop.load(Relaxed) {
                    let slept = Instant::now();
                    sleep(nap).await;
                    let late = slept.elapsed().saturating_sub(nap);
                    woken_late.fetch_max(late.as_micros() as u64, Relaxed);
                }
            });
        }
        for address in nodes {
            // Seats need more clients than there are seats.
            for (model, key, count, pause) in [
                ("money", "sk-canary-money", 1, 40),
                ("rate", "sk-canary-rate", 1, 40),
                ("seats", "sk-canary-seats", 4, 5),
            ] {
                for _ in 0..count {
                    let (stop, sent) = (Arc::clone(&stop), Arc::clone(&sent));
                    let request = chat(model, key);
                    clients.spawn(async move {
                        while !stop.load(Relaxed) {
                            status_of(address, &request).await;
                            sent.fetch_add(1, Relaxed);
                            sleep(Duration::from_millis(pause)).await;
                        }
                    });
                }
            }
        }
        Self {
            stop,
            sent,
            woken_late,
            clients,
        }
    }

    /// The requests that were sent, and how late this machine woke a task.
    async fn end(mut self) -> (u64, f64) {
        self.stop.store(true, Relaxed);
        while self.clients.join_next().await.is_some() {}
        let late = self.woken_late.load(Relaxed) as f64 / 1e6;
        (self.sent.load(Relaxed), late)
    }
}

/// The contents of a row of the table.
struct Row {
    event: Event,
    money: u64,
    rate: (u64, u64),
    seats: u64,
    frozen: Duration,
    waited: f64,
    /// How late this machine woke a task that slept, at the worst.
    woken_late: f64,
    /// Nodes that decided by their shares at some moment, also because the machine was busy.
    alone: u64,
    sent: u64,
}

impl Row {
    /// How many nodes' shares of a rate may have been used besides what was leased.
    fn shares(&self) -> u64 {
        self.event.shares().max(self.alone.min(2))
    }
}

async fn row(event: Event) -> Option<Row> {
    let mut world = World::start(event.clock()).await?;
    let load = Load::start(world.nodes.iter().map(|node| node.address).collect());
    // A key that is frozen during the event.
    let (status, created) = world.nodes[0]
        .operate("POST", "/api/keys", r#"{"name":"guest"}"#)
        .await;
    assert_eq!(status, 201, "{created}");
    let secret = created
        .split("\"secret\":\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    let secret = secret
        .unwrap_or_else(|| panic!("no key in {created}"))
        .to_owned();
    for node in &world.nodes {
        until("the key works", async || {
            node.ask("guest", &secret).await == 200
        })
        .await;
    }
    event.happen(&mut world).await;
    let healed = Instant::now();
    let frozen = async || {
        let (status, _) = world.nodes[0]
            .operate("POST", "/api/keys/guest/freeze", "")
            .await;
        status == 200
    };
    until("the key is frozen", frozen).await;
    for node in &world.nodes {
        until("the key stops", async || {
            node.ask("guest", &secret).await == 401
        })
        .await;
    }
    let frozen = healed.elapsed();
    // Long enough for every earlier lease to have ended.
    let rest = CONVERGED.saturating_sub(healed.elapsed());
    sleep(rest).await;
    let (sent, woken_late) = load.end().await;
    let elapsed = world.began.elapsed();
    // What is left of the budget can be spent: nothing is lost for good.
    world.spend_the_rest("money", "sk-canary-money").await;
    let (mut waited, mut alone) = (0.0_f64, 0);
    for node in &world.nodes {
        let longest = node.metric("majordomo_store_wait_longest_seconds").await;
        let outages = node
            .metric("majordomo_store_outages_total{store=\"redis\"}")
            .await;
        alone += u64::from(longest >= LATE || outages > 0.0);
        waited = waited.max(longest);
        assert_store_log(node.log(), event);
    }
    let leaked = RATE * elapsed.as_millis() as u64 / 60_000;
    Some(Row {
        event,
        money: world.mock.count("money").requests,
        rate: (world.mock.count("rate").requests, leaked + BURST),
        seats: world.mock.count("seats").most_open,
        frozen,
        waited,
        woken_late,
        alone,
        sent,
    })
}

/// One line per change of availability, not per request.
fn assert_store_log(log: String, event: Event) {
    let away = log.matches("the store does not respond").count();
    assert!(away <= 12, "{event:?}: {away} lines\n{log}");
}

fn check(row: &Row) {
    let Row { event, .. } = row;
    assert!(
        row.money * PRICE <= AFFORDABLE * PRICE,
        "{event:?}: {} requests paid",
        row.money
    );
    // A dead node wastes its leases, at most a sixth of the remainder.
    let lost = if *event == Event::KillNode {
        AFFORDABLE / 3
    } else {
        AFFORDABLE / 20
    };
    assert!(
        row.money >= AFFORDABLE - lost,
        "{event:?}: only {} requests",
        row.money
    );
    let (admitted, most) = row.rate;
    // Each node may admit one request before it asks.
    let most = most + row.shares() * BURST / 3 + 3;
    assert!(admitted <= most, "{event:?}: {admitted} of {most}");
    assert!(admitted >= most / 3, "{event:?}: only {admitted} of {most}");
    assert!(row.seats <= SEATS, "{event:?}: {} at once", row.seats);
    assert!(
        row.seats >= SEATS - 1,
        "{event:?}: only {} at once",
        row.seats
    );
    assert!(row.frozen <= CONVERGED, "{event:?}: {:?}", row.frozen);
    assert!(
        row.waited <= LONGEST_WAIT + row.woken_late,
        "{event:?}: {} s",
        row.waited
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_leaves_every_limit_standing() {
    // MAJORDOMO_CLUSTER_ROWS: all by `./test --long`.
    let rows = majordomo_testkit::started("MAJORDOMO_CLUSTER_ROWS");
    let rows: usize = rows.map_or(6, |rows| rows.parse().expect("a number of rows"));
    let mut table = Vec::new();
    for event in Event::ALL.into_iter().take(rows) {
        let Some(row) = row(event).await else {
            return;
        };
        let (admitted, most) = row.rate;
        println!(
            "{:<20} budget {:>3}/{AFFORDABLE}  rate {admitted:>3}/{most:<3}  seats {}/{SEATS}  \
             frozen after {:>5.2} s  longest wait {:>4.1} ms  {} requests",
            event.name(),
            row.money,
            row.seats,
            row.frozen.as_secs_f64(),
            row.waited * 1e3,
            row.sent
        );
        table.push(row);
    }
    table.iter().for_each(check);
}
