//! Three gateways, their stores and an upstream.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use majordomo_testkit::{Fault, PemIdentity, Postgres, Redis};
use tokio::time::{Instant, sleep};

use crate::mock::{INPUT, Mock, OUTPUT};
use crate::node::{Node, NodeSettings, TIMEOUT};

/// Requests that the budget covers.
pub(crate) const AFFORDABLE: u64 = 400;
/// Requests per minute of the key `rate`, and its burst.
pub(crate) const RATE: u64 = 240;
pub(crate) const BURST: u64 = RATE / 6;
/// Seats of the key `seats`.
pub(crate) const SEATS: u64 = 6;

/// Nanodollars of one request: a dollar per million tokens.
pub(crate) const PRICE: u64 = (INPUT + OUTPUT) * 1_000;

/// Nanodollars of a request to the model `dollar`: three cents.
pub(crate) const DOLLAR_PRICE: u64 = INPUT * 1_000 + OUTPUT * 3_000_000;

pub(crate) struct World {
    pub(crate) redis: Redis,
    pub(crate) mock: Arc<Mock>,
    pub(crate) settings: NodeSettings,
    pub(crate) nodes: Vec<Node>,
    pub(crate) began: Instant,
}

pub(crate) const NAMES: [&str; 3] = ["a", "b", "c"];

impl World {
    /// Starts everything, or nothing if there are no servers.
    pub(crate) async fn start(clock: Option<&str>) -> Option<Self> {
        Self::start_with(Redis::start()?, None, clock).await
    }

    /// The same with a Redis that speaks TLS only.
    pub(crate) async fn start_tls() -> Option<Self> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let identity = PemIdentity::new("localhost");
        let [certificate, key] = ["crt", "key"].map(|kind| folder.join(format!("cluster.{kind}")));
        std::fs::write(&certificate, &identity.cert).expect("a folder for tests");
        std::fs::write(&key, &identity.key).expect("a folder for tests");
        let redis = Redis::start_tls(certificate.clone(), key)?;
        Self::start_with(redis, Some(certificate), None).await
    }

    async fn start_with(redis: Redis, root: Option<PathBuf>, clock: Option<&str>) -> Option<Self> {
        let postgres = Postgres::started()?;
        let database = postgres.database();
        let (server, name) = database.rsplit_once('/').expect("a database");
        let (login, address) = server.rsplit_once('@').expect("a login");
        let mock = Arc::new(Mock::start().await);
        let settings = NodeSettings {
            redis: redis.address(),
            root,
            fault: Fault::None,
            postgres: address.parse::<SocketAddr>().expect("an address"),
            database: format!("{login}@{{address}}/{name}?sslmode=disable"),
            config: config(mock.address),
        };
        let mut nodes = Vec::new();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        for (number, name) in NAMES.into_iter().enumerate() {
            // One node's wall clock is off.
            let clock = clock.filter(|_| number == 1);
            nodes.push(Node::start_at(name, &settings, any, clock).await);
        }
        let world = Self {
            redis,
            mock,
            settings,
            nodes,
            began: Instant::now(),
        };
        world.settle().await;
        Some(world)
    }

    /// Spends of a budget until every node refuses.
    pub(crate) async fn spend_the_rest(&self, model: &str, key: &str) {
        let began = Instant::now();
        let mut refused = 0;
        while refused < 3 * self.nodes.len() {
            let spent = began.elapsed();
            assert!(spent < Duration::from_secs(40), "the budget has no end");
            for node in &self.nodes {
                match node.ask(model, key).await {
                    429 => refused += 1,
                    200 => refused = 0,
                    // A store that was away is asked again within a second.
                    503 => sleep(Duration::from_millis(200)).await,
                    other => panic!("{model}: {other}"),
                }
            }
        }
    }

    /// Waits until all nodes see each other and the store grants what was not held before.
    async fn settle(&self) {
        for node in &self.nodes {
            until("three nodes", async || {
                node.metric("majordomo_cluster_nodes").await == 3.0
            })
            .await;
        }
        // The first exchange sets the store's birth date; one lease later it grants new units.
        self.nodes[0].ask("rate", "sk-canary-rate").await;
        sleep(Duration::from_millis(4_200)).await;
    }
}

fn config(mock: SocketAddr) -> String {
    let budget = AFFORDABLE * PRICE;
    let dollars = format!("{}.{:09}", budget / 1_000_000_000, budget % 1_000_000_000);
    format!(
        "[providers.up]\nkind = \"openai\"\nbase_url = \"http://{mock}/v1\"\napi_key = \"k\"\n\
         [prices.\"up/*\"]\ninput = \"1\"\noutput = \"1\"\n\
         [prices.\"up/dollar\"]\ninput = \"1\"\noutput = \"3000\"\n\
         [[keys]]\nname = \"dollar\"\nkey = \"sk-canary-dollar\"\nbudget = {{ total = \"1 USD\" }}\n\
         [[keys]]\nname = \"money\"\nkey = \"sk-canary-money\"\nbudget = {{ total = \"{dollars} USD\" }}\n\
         [[keys]]\nname = \"rate\"\nkey = \"sk-canary-rate\"\nlimits = {{ requests_per_minute = {RATE} }}\n\
         [[keys]]\nname = \"seats\"\nkey = \"sk-canary-seats\"\n\
         limits = {{ concurrent = {SEATS}, queue = \"2s\" }}\n\
         [[keys]]\nname = \"open\"\nkey = \"sk-canary-open\"\n"
    )
}

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < TIMEOUT, "never: {what}");
        sleep(Duration::from_millis(20)).await;
    }
    began.elapsed()
}
