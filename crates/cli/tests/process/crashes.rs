//! A ledger and its budgets survive `kill -9` under load, and a disk that is full.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use majordomo_gateway::ledger::{
    GroupBy, RequestQuery, SqliteStore, Store, UsageQuery, UsageRow, UsageSums,
};
use majordomo_testkit::{Script, Upstream};

use crate::gateway::{GatewayCommand, RESPONSE, TIMEOUT, chat_request, exchange};

fn usage(store: &mut SqliteStore, by: Vec<GroupBy>) -> Vec<UsageRow> {
    let rows = store.usage(&UsageQuery {
        since_millis: 0,
        until_millis: i64::MAX >> 16,
        by,
        utc_offset_minutes: 0,
        as_recorded: false,
    });
    rows.expect("a report")
}

fn total(store: &mut SqliteStore) -> UsageSums {
    usage(store, Vec::new())[0].sums
}

fn config(upstream: &Upstream, folder: &Path) -> String {
    format!(
        "[providers.up]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\napi_key = \"k\"\n\
         [prices.\"up/*\"]\ninput = \"1\"\noutput = \"1\"\n\
         [ledger]\nstore = \"sqlite://{}\"\n",
        upstream.address(),
        folder.display()
    )
}

fn answer() -> Script {
    Script::new()
        .read_request()
        .respond(200, "application/json", RESPONSE)
}

/// Whether the gateway has written that the attempt which never ends is open.
fn is_open(folder: &Path) -> bool {
    let db = rusqlite::Connection::open(folder.join("ledger.db"));
    let count = db.and_then(|db| {
        let select = "SELECT count(*) FROM open_attempt WHERE entry LIKE '%slow/m%'";
        db.query_row(select, [], |row| row.get::<_, i64>(0))
    });
    count.is_ok_and(|count| count > 0)
}

async fn is_answered(address: SocketAddr) -> bool {
    let response = exchange(address, chat_request("up/m", false).as_bytes()).await;
    response.starts_with("HTTP/1.1 200")
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_nine_under_load_leaves_a_sound_ledger_and_a_trace_of_what_was_open() {
    // MAJORDOMO_KILLS: a thousand by `./test --long`.
    let kills = majordomo_testkit::started("MAJORDOMO_KILLS");
    let kills: u64 = kills.map_or(20, |kills| kills.parse().expect("a number of kills"));
    let place = tempfile::tempdir().expect("a folder");
    for kill in 1..=kills {
        let folder = place.path().join("ledger");
        let upstream = Upstream::start((0..200).map(|_| answer())).await;
        // It never responds.
        let stalling = Upstream::start((0..4).map(|_| Script::new().read_request().stall())).await;
        let config = format!(
            "{}[providers.slow]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\napi_key = \"k\"\n\
             [prices.\"slow/*\"]\ninput = \"1\"\noutput = \"1\"\n",
            config(&upstream, &folder),
            stalling.address()
        );
        let mut gateway = GatewayCommand::with(config).start().await;
        let address = gateway.address;
        let stalled = chat_request("slow/m", false);
        let stalled = tokio::spawn(async move { exchange(address, stalled.as_bytes()).await });
        let load = (0..4).map(|_| tokio::spawn(async move { while is_answered(address).await {} }));
        let load: Vec<_> = load.collect();
        let open = async {
            while !is_open(&folder) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, open)
            .await
            .expect("an open row within a commit");
        upstream.wait_for_requests(20, TIMEOUT).await;
        gateway.signal("KILL");
        gateway.ended().await;
        stalled.await.expect("a client ends with its gateway");
        for task in load {
            task.await.expect("a client ends with its gateway");
        }
        let mut store = SqliteStore::open(&folder).expect("the ledger opens");
        store.recover().expect("it recovers");
        let report = store.verify().expect("it can be checked");
        assert_eq!(report.problems, [] as [&str; 0], "after {kill} kills");
        let sums = total(&mut store);
        assert_eq!(sums.attempts, report.attempts);
        let models = usage(&mut store, vec![GroupBy::Model]);
        let stalled = models.iter().find(|row| row.group == ["slow/m"]);
        let stalled = stalled.expect("the stalled model's usage").sums;
        assert_eq!(stalled.lost, kill, "after {kill} kills");
        // The newest come first: the one of this kill is among them.
        let lost = store.requests(&RequestQuery {
            outcome: Some("lost".to_owned()),
            limit: 100,
            ..RequestQuery::default()
        });
        let lost = lost.expect("requests");
        let mut stalled = lost
            .iter()
            .filter(|row| row.request.model.as_ref() == "slow/m");
        let newest = stalled.next().expect("the attempt that was open");
        let cost = newest.attempts[0].cost;
        assert!(cost.is_some_and(|cost| cost.nanodollars() > 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_nine_under_load_never_exceeds_a_budget() {
    /// Fewer than a run's clients ask for, so the budget runs out in any number of runs.
    const CALLS_PER_RUN: u64 = 10;
    /// 10 tokens in and 1,000 out, at a dollar per million.
    const COST: u64 = 1_010_000;
    let kills = majordomo_testkit::started("MAJORDOMO_KILLS");
    let kills: u64 = kills.map_or(20, |kills| kills.parse().expect("a number of kills"));
    let place = tempfile::tempdir().expect("a folder");
    let response = RESPONSE
        .replace("\"prompt_tokens\":1,", "\"prompt_tokens\":10,")
        .replace("\"completion_tokens\":1,", "\"completion_tokens\":1000,");
    let answer = Script::new()
        .read_request()
        .respond(200, "application/json", response);
    let upstream = Upstream::start((0..2_000).map(|_| answer.clone().times(1_000))).await;
    let budget = kills * CALLS_PER_RUN * COST;
    let dollars = budget as f64 / 1e9;
    let limits =
        format!("[limits]\nbudget = {{ total = \"{dollars} USD\" }}\nreserve_output = 1000\n");
    let config = config(&upstream, &place.path().join("ledger")) + &limits;
    for _ in 0..kills {
        let mut gateway = GatewayCommand::with(config.clone()).start().await;
        let address = gateway.address;
        let responses = Arc::<AtomicUsize>::default();
        let clients = (0..4).map(|_| {
            let responses = Arc::clone(&responses);
            tokio::spawn(async move {
                let body = chat_request("up/m", false);
                while exchange(address, body.as_bytes())
                    .await
                    .starts_with("HTTP/1.1 ")
                {
                    responses.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        let clients: Vec<_> = clients.collect();
        while responses.load(Ordering::Relaxed) < 16 {
            tokio::task::yield_now().await;
        }
        gateway.signal("KILL");
        gateway.ended().await;
        for client in clients {
            client.await.expect("a client ends with its gateway");
        }
    }
    // A gateway also lists the models of its providers when it starts, which costs nothing.
    let requests = upstream.requests().into_iter();
    let calls = requests.filter(|request| request.head.starts_with("POST "));
    let counted = calls.count() as u64;
    let (spent, error) = (counted * COST, counted * 10 * 1_000);
    println!("{kills} kills: {spent} of {budget} nanodollars, estimate error at most {error}");
    assert!(spent <= budget + error, "{spent}");
    assert!(counted > kills, "only {counted} calls");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_fails_no_request_and_is_recovered_from_without_a_restart() {
    if !majordomo_testkit::installed("prlimit") {
        return;
    }
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("ledger");
    let upstream = Upstream::start((0..400).map(|_| answer())).await;
    let mut command = GatewayCommand::with(config(&upstream, &folder));
    // Files cannot grow beyond this, as on a disk that is full.
    command.before = "trap '' XFSZ; ulimit -S -f 256";
    let gateway = command.start().await;
    let mut sent = 0;
    let unavailable = async {
        loop {
            assert!(is_answered(gateway.address).await);
            sent += 1;
            let metrics = gateway.operator_get("/metrics").await;
            if metrics.contains("majordomo_ledger_available 0") {
                return;
            }
        }
    };
    tokio::time::timeout(TIMEOUT, unavailable)
        .await
        .expect("the disk fills");
    for _ in 0..10 {
        assert!(is_answered(gateway.address).await);
        sent += 1;
    }
    let raised = std::process::Command::new("prlimit")
        .args(["--fsize=unlimited", "--pid", &gateway.id().to_string()])
        .status();
    assert!(raised.expect("prlimit runs").success());
    let recovered = async {
        loop {
            let usage = gateway.operator_get("/api/usage?since=1d").await;
            // A connection that was closed while idle may have taken a second attempt.
            if usage.contains(&format!("\"requests\":{sent}")) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, recovered)
        .await
        .expect("all rows arrive");
    let metrics = gateway.operator_get("/metrics").await;
    assert!(
        metrics.contains("majordomo_ledger_available 1"),
        "{metrics}"
    );
}
