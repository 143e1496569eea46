//! Budgets whose store is busy for a moment, when the gateway starts and afterwards.

use std::path::Path;
use std::time::Duration;

use majordomo_testkit::Upstream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::limits::{CHAT, answer, config};
use crate::serve::test_gateway::TestGateway;

const BUDGET: &str = "[limits]\nbudget = { total = \"1 USD\" }\n";

/// Locks the ledger of a folder against writers for a while, as a slow disk would.
fn busy(place: &Path, time: Duration) -> JoinHandle<()> {
    std::fs::create_dir_all(place).expect("a folder");
    let db = rusqlite::Connection::open(place.join("ledger.db")).expect("a file");
    db.pragma_update(None, "journal_mode", "WAL")
        .expect("a journal");
    db.execute_batch("BEGIN EXCLUSIVE").expect("nobody writes");
    tokio::spawn(async move {
        sleep(time).await;
        db.execute_batch("ROLLBACK").expect("it was locked");
    })
}

fn stored(upstream: &Upstream, place: &Path) -> String {
    let store = format!("store = \"sqlite://{}\"", place.display());
    config(upstream, BUDGET).replace("store = \"off\"", &store)
}

#[tokio::test]
async fn the_first_request_is_served_although_the_store_was_busy_when_the_gateway_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("ledger");
    let upstream = Upstream::start([answer()]).await;
    let config = stored(&upstream, &place);
    let released = busy(&place, Duration::from_millis(800));
    let server = TestGateway::start(&config).await;
    let served = server.post("/v1/chat/completions", CHAT).await;
    assert_eq!(served.status, 200, "{}", served.text());
    released.await.expect("it is released");
    server.stop().await;
}

#[tokio::test]
async fn a_request_waits_for_a_folder_that_is_busy_for_a_moment() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("ledger");
    let upstream = Upstream::start([answer()]).await;
    let server = TestGateway::start(&stored(&upstream, &place)).await;
    let released = busy(&place, Duration::from_millis(200));
    let served = server.post("/v1/chat/completions", CHAT).await;
    assert_eq!(served.status, 200, "{}", served.text());
    released.await.expect("it is released");
    server.stop().await;
}

#[tokio::test]
async fn a_folder_that_stays_busy_refuses_a_strict_budget_within_a_second() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("ledger");
    let upstream = Upstream::start([answer()]).await;
    let server = TestGateway::start(&stored(&upstream, &place)).await;
    let released = busy(&place, Duration::from_millis(2_500));
    for _ in 0..3 {
        let asked = Instant::now();
        let refused = server.post("/v1/chat/completions", CHAT).await;
        assert_eq!(refused.status, 503, "{}", refused.text());
        assert_eq!(refused.header("retry-after"), Some("1"));
        let took = asked.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
    released.await.expect("it is released");
    // What was asked for arrived meanwhile, or is asked for again.
    let served = async {
        while server.post("/v1/chat/completions", CHAT).await.status != 200 {
            sleep(Duration::from_millis(100)).await;
        }
    };
    let recovered = tokio::time::timeout(Duration::from_secs(5), served).await;
    recovered.expect("it recovers without a restart");
    server.stop().await;
}
