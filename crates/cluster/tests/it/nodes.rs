//! Nodes over a real server and a network that fails.

use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use majordomo_cluster::{ClusterNode, ClusterSettings, News};
use majordomo_limits::{
    ChargeOutcome, Flow, LevelId, LevelKind, LevelPolicy, LimitPolicy, LimitRegistry, LimitStack,
    MemoryLeases, Moment, NoAlerts, TrafficBackend, TrafficLimits,
};
use majordomo_testkit::{Fault, FaultProxy, Redis};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// Longer than anything here takes, unless it is broken.
const LONG: Duration = Duration::from_secs(20);

struct Running {
    node: Arc<ClusterNode>,
    heard: Arc<Mutex<Vec<News>>>,
    registry: Arc<LimitRegistry>,
    tasks: [JoinHandle<()>; 2],
    began: Instant,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn start(name: &str, url: &str) -> Running {
    let node = ClusterNode::new(ClusterSettings {
        state: url.parse().expect("an address"),
        name: name.to_owned(),
        nodes: 3,
    });
    let heard = Arc::<Mutex<Vec<News>>>::default();
    let began = Instant::now();
    let registry = LimitRegistry::new(Arc::<MemoryLeases>::default(), Arc::new(NoAlerts));
    let registry = Arc::new(registry.sharing(node.clone()));
    let running = {
        let (node, heard) = (Arc::clone(&node), Arc::clone(&heard));
        tokio::spawn(async move {
            node.run(Box::new(move |news| {
                heard.lock().expect("not poisoned").push(news)
            }))
            .await;
        })
    };
    let exchanging = {
        let registry = Arc::clone(&registry);
        tokio::spawn(async move {
            loop {
                registry.exchange(began.elapsed());
                sleep(Duration::from_millis(20)).await;
            }
        })
    };
    Running {
        node,
        heard,
        registry,
        tasks: [running, exchanging],
        began,
    }
}

impl Running {
    fn stack(&self, requests: u64, concurrent: u64) -> LimitStack {
        let policy = LimitPolicy {
            traffic: TrafficLimits {
                requests_per_minute: NonZeroU64::new(requests),
                concurrent: NonZeroU64::new(concurrent),
                ..TrafficLimits::default()
            },
            ..LimitPolicy::default()
        };
        let level = LevelPolicy {
            id: LevelId::new(LevelKind::Key, "laptop"),
            policy: Arc::new(policy),
        };
        self.registry.stack(1, &[level], Flow::named("laptop"))
    }

    fn now(&self) -> Moment {
        Moment {
            monotonic: self.began.elapsed(),
            day: 0,
        }
    }

    /// Whether a request is admitted, and how long it waited for that.
    async fn request(&self, stack: &LimitStack) -> (bool, Duration) {
        let began = Instant::now();
        let deadline = began + Duration::from_millis(50);
        let mut late = false;
        loop {
            match stack.charge_request(self.now()) {
                ChargeOutcome::Charged(_) => return (true, began.elapsed()),
                ChargeOutcome::Refused(_) => return (false, began.elapsed()),
                ChargeOutcome::Waiting(wait) => {
                    let replied = tokio::time::timeout_at(deadline, wait.replied()).await;
                    if replied.is_err() {
                        if late {
                            return (false, began.elapsed());
                        }
                        wait.expire(self.now().monotonic);
                        late = true;
                    }
                }
            }
        }
    }
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    let seen = timeout(LONG, waiting).await;
    seen.unwrap_or_else(|_| panic!("never: {what}"));
}

/// Two nodes that know each other, on a store that is old enough to grant new units.
async fn two(url: &str) -> [Running; 2] {
    let both = [start("a", url), start("b", url)];
    until("both joined", || {
        both.iter().all(|one| one.node.nodes() == 2)
    })
    .await;
    let stack = both[0].stack(60_000, 100);
    let began = Instant::now();
    // A store that has just begun to remember grants nothing new for the length of a lease.
    while began.elapsed() < LONG {
        let _ = both[0].request(&stack).await;
        if both[0].node.availability().is_up() && began.elapsed() > Duration::from_millis(4_100) {
            break;
        }
        sleep(Duration::from_millis(50)).await;
    }
    both
}

#[tokio::test]
async fn two_nodes_admit_one_burst_together() {
    let Some(server) = Redis::start() else {
        return;
    };
    let nodes = two(&server.url()).await;
    // Ten at once, then one per second.
    let stacks = nodes.each_ref().map(|node| node.stack(60, 4));
    let began = Instant::now();
    let mut admitted = 0;
    for _ in 0..40 {
        for (node, stack) in nodes.iter().zip(&stacks) {
            admitted += u64::from(node.request(stack).await.0);
        }
    }
    let leaked = began.elapsed().as_secs() + 1;
    assert!(admitted <= 10 + leaked, "{admitted} admitted");
    assert!(admitted >= 9, "{admitted} admitted");
}

#[tokio::test]
async fn seats_move_to_the_node_that_needs_them() {
    let Some(server) = Redis::start() else {
        return;
    };
    let nodes = two(&server.url()).await;
    let stacks = nodes.each_ref().map(|node| node.stack(60_000, 4));
    let mut taken = Vec::new();
    for _ in 0..4 {
        let queue = stacks[0]
            .seats(nodes[0].now().monotonic)
            .next()
            .expect("seats");
        let seat = timeout(LONG, queue.seats.acquire(queue.flow, 1)).await;
        taken.push(seat.expect("in time").expect("a seat"));
    }
    let other = stacks[1]
        .seats(nodes[1].now().monotonic)
        .next()
        .expect("seats");
    assert!(
        other.seats.try_acquire(other.flow, 1).is_none(),
        "a fifth seat"
    );
    let waiting = other.seats.acquire(other.flow, 1);
    taken.pop();
    let seat = timeout(LONG, waiting).await;
    assert!(seat.is_ok_and(|seat| seat.is_ok()), "the seat never moves");
}

#[tokio::test]
async fn a_frozen_store_delays_a_request_by_fifty_milliseconds_at_most_and_then_none() {
    let Some(server) = Redis::start() else {
        return;
    };
    let proxy = FaultProxy::start(server.address()).await;
    let url = format!("redis://{}", proxy.address());
    let nodes = two(&url).await;
    let stack = nodes[0].stack(600, 4);
    assert!(nodes[0].request(&stack).await.0);
    proxy.set(Fault::Freeze);
    for _ in 0..200 {
        let (_, waited) = nodes[0].request(&stack).await;
        // The machine may be busy.
        assert!(waited < Duration::from_millis(150), "{waited:?}");
    }
    until("the store is down", || !nodes[0].node.is_up()).await;
    let waited = nodes[0].request(&stack).await.1;
    assert!(waited < Duration::from_millis(20), "{waited:?}");
    proxy.set(Fault::None);
    let healed = Instant::now();
    until("the store is up", || nodes[0].node.is_up()).await;
    assert!(
        healed.elapsed() < Duration::from_secs(5),
        "{:?}",
        healed.elapsed()
    );
}

#[tokio::test]
async fn every_fault_is_noticed_and_survived() {
    let Some(mut server) = Redis::start() else {
        return;
    };
    let proxy = FaultProxy::start(server.address()).await;
    let node = start("a", &format!("redis://{}", proxy.address()));
    until("it joined", || node.node.id() != "a#0").await;
    for fault in [
        Fault::Cut,
        Fault::Freeze,
        Fault::DropToServer,
        Fault::DropToClient,
    ] {
        proxy.set(fault);
        until(&format!("{fault:?} is noticed"), || !node.node.is_up()).await;
        proxy.set(Fault::None);
        until(&format!("{fault:?} is over"), || node.node.is_up()).await;
    }
    server.restart_empty();
    until("the restart is noticed", || {
        node.node.availability().status(Instant::now()).outages > 4
    })
    .await;
    until("it joined again", || node.node.is_up()).await;
}

#[tokio::test]
async fn news_reach_the_other_node_also_after_a_cut() {
    let Some(server) = Redis::start() else {
        return;
    };
    let proxy = FaultProxy::start(server.address()).await;
    let teller = start("a", &server.url());
    let hearer = start("b", &format!("redis://{}", proxy.address()));
    for round in 0..2 {
        until("it listens", || {
            !hearer.heard.lock().expect("not poisoned").is_empty()
        })
        .await;
        teller.node.tell(News::KeysChanged);
        until("it hears", || {
            hearer
                .heard
                .lock()
                .expect("not poisoned")
                .contains(&News::KeysChanged)
        })
        .await;
        let own = teller
            .heard
            .lock()
            .expect("not poisoned")
            .contains(&News::KeysChanged);
        assert!(!own, "a node hears itself");
        hearer.heard.lock().expect("not poisoned").clear();
        if round == 0 {
            proxy.set(Fault::Cut);
            until("the store is down", || !hearer.node.is_up()).await;
            proxy.set(Fault::None);
        }
    }
}

#[tokio::test]
async fn a_server_that_forgot_the_scripts_gets_them_again() {
    let Some(server) = Redis::start() else {
        return;
    };
    let nodes = two(&server.url()).await;
    let client = redis::Client::open(server.url()).expect("an address");
    let mut connection = client.get_connection().expect("it listens");
    redis::cmd("SCRIPT")
        .arg("FLUSH")
        .exec(&mut connection)
        .expect("it flushes");
    let stack = nodes[0].stack(600, 4);
    assert!(nodes[0].request(&stack).await.0);
    let outages = nodes[0].node.availability().status(Instant::now()).outages;
    assert_eq!(outages, 0);
}

#[tokio::test]
async fn values_are_shared_until_they_expire() {
    let Some(server) = Redis::start() else {
        return;
    };
    let nodes = [start("a", &server.url()), start("b", &server.url())];
    until("both joined", || {
        nodes.iter().all(|one| one.node.nodes() == 2)
    })
    .await;
    nodes[0].node.keep_value("digest", "an apple", LONG);
    let found = async {
        loop {
            if let Some(value) = nodes[1].node.value("digest").await {
                return value;
            }
        }
    };
    assert_eq!(timeout(LONG, found).await.expect("in time"), "an apple");
    assert_eq!(nodes[1].node.value("another").await, None);
    nodes[0]
        .node
        .keep_value("short", "x", Duration::from_millis(1));
    sleep(Duration::from_millis(50)).await;
    assert_eq!(nodes[1].node.value("short").await, None);
}

#[tokio::test]
async fn a_store_behind_tls_is_used_if_its_certificate_is_of_the_root() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [own, other] = ["redis", "other"].map(|name| {
        let identity = majordomo_testkit::PemIdentity::new("localhost");
        let files = ["crt", "key"].map(|kind| folder.join(format!("{name}.{kind}")));
        std::fs::write(&files[0], &identity.cert).expect("a folder for tests");
        std::fs::write(&files[1], &identity.key).expect("a folder for tests");
        files
    });
    let Some(server) = Redis::start_tls(own[0].clone(), own[1].clone()) else {
        return;
    };
    let url = |host: &str, root: &std::path::Path| {
        let port = server.address().port();
        format!("rediss://{host}:{port}/0?sslrootcert={}", root.display())
    };
    let node = start("a", &url("localhost", &own[0]));
    until("it joined", || node.node.id() != "a#0").await;
    assert!(node.node.is_up());
    // Exchanges, and the second connection, which listens.
    let stack = node.stack(600, 4);
    assert!(node.request(&stack).await.0);
    until("it listens", || {
        !node.heard.lock().expect("not poisoned").is_empty()
    })
    .await;
    for (host, root) in [("localhost", &other[0]), ("127.0.0.1", &own[0])] {
        let stranger = start("b", &url(host, root));
        let status = || stranger.node.availability().status(Instant::now());
        until("the certificate is refused", || status().outages > 0).await;
        let reason = status().reason.expect("a reason");
        assert!(reason.contains("certificate"), "{reason}");
        assert_eq!(stranger.node.id(), "b#0");
    }
}
