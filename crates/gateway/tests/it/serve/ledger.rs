//! The ledger behind a gateway: the rows of a request, and where they appear.

use std::time::Duration;

use majordomo_ledger::{GroupBy, SqliteStore, Store, UsageQuery};
use majordomo_testkit::{Script, Upstream};
use serde_json::Value;

use crate::serve::test_gateway::TestGateway;

const BODY: &str = r#"{"model":"up/m","messages":[{"role":"user","content":"hi"}]}"#;

fn answer() -> Script {
    let body = r#"{"id":"x","model":"m","choices":[{"index":0,"message":{"role":"assistant",
        "content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,
        "completion_tokens":100,"total_tokens":1100,"prompt_tokens_details":{"cached_tokens":400}}}"#;
    Script::new()
        .read_request()
        .respond(200, "application/json", body)
}

fn refusal(status: u16) -> Script {
    let body = r#"{"error":{"message":"no"}}"#;
    Script::new()
        .read_request()
        .respond(status, "application/json", body)
}

fn config(upstream: &Upstream, folder: &std::path::Path) -> String {
    format!(
        "[providers.up]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\napi_key = \"upstream-key\"\n\
         [ledger]\nstore = \"sqlite://{}\"\n\
         [prices.\"up/m\"]\ninput = \"1\"\noutput = \"10\"\ncache_read = \"0.1\"\n",
        upstream.address(),
        folder.display()
    )
}

/// 600 fresh, 400 cached and 100 output tokens.
const COST: i64 = 600 * 1_000 + 400 * 100 + 100 * 10_000;

#[tokio::test]
async fn a_request_is_recorded_priced_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("ledger");
    let upstream = Upstream::start([answer(), answer()]).await;
    let server = TestGateway::start(&config(&upstream, &place)).await;
    for _ in 0..2 {
        let answer = server.post("/v1/chat/completions", BODY).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("x-majordomo-cost"), Some("0.00164 USD"));
    }
    let usage = server
        .send_to_operator("/api/usage?by=target&since=1h", &[], b"")
        .await;
    assert_eq!(usage.status, 200, "{}", usage.text());
    let usage: Value = serde_json::from_slice(&usage.body).unwrap();
    assert_eq!(usage["rows"][0]["group"][0], "up/m");
    assert_eq!(usage["rows"][0]["cache_read"], 800);
    assert_eq!(usage["total"]["cost_nanodollars"], 2 * COST);
    let csv = server
        .send_to_operator("/api/usage?by=model&format=csv", &[], b"")
        .await;
    let line = "up/m,2,2,2000,800,0,0,200,0,0,0.00328,0,0,0,0.00";
    assert!(
        csv.text().lines().any(|found| found == line),
        "{}",
        csv.text()
    );
    let listed = server
        .send_to_operator("/api/requests?limit=1", &[], b"")
        .await;
    let listed: Value = serde_json::from_slice(&listed.body).unwrap();
    let attempt = &listed["requests"][0]["attempts"][0];
    assert_eq!(attempt["settle"], "reported");
    assert_eq!(attempt["price"]["rates"], "i1 o10 r0.1");
    let metrics = server.send_to_operator("/metrics", &[], b"").await;
    let line = "majordomo_cost_usd_total{target=\"up/m\"} 0.00328";
    assert!(metrics.text().contains(line), "{}", metrics.text());
    assert!(metrics.text().contains("majordomo_ledger_available 1"));
}

#[tokio::test]
async fn a_refusal_before_output_is_free_and_the_retry_is_charged() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("ledger");
    let upstream = Upstream::start([refusal(500), answer()]).await;
    let server = TestGateway::start(&config(&upstream, &place)).await;
    let answer = server.post("/v1/chat/completions", BODY).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let listed = server
        .send_to_operator("/api/requests?limit=1", &[], b"")
        .await;
    let listed: Value = serde_json::from_slice(&listed.body).unwrap();
    let attempts = listed["requests"][0]["attempts"].as_array().unwrap();
    let settled: Vec<_> = attempts
        .iter()
        .map(|attempt| {
            (
                attempt["number"].as_u64(),
                attempt["settle"].as_str(),
                attempt["cost"].as_i64(),
            )
        })
        .collect();
    assert_eq!(
        settled,
        [
            (Some(1), Some("free"), Some(0)),
            (Some(2), Some("reported"), Some(COST))
        ]
    );
}

#[tokio::test]
async fn a_model_without_a_price_is_unknown_and_not_free() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("ledger");
    let upstream = Upstream::start([answer()]).await;
    let server = TestGateway::start(&config(&upstream, &place)).await;
    let body = BODY.replace("up/m", "up/unlisted");
    let answer = server.post("/v1/chat/completions", body).await;
    assert_eq!(answer.header("x-majordomo-cost"), None);
    let usage = server.send_to_operator("/api/usage", &[], b"").await;
    let usage: Value = serde_json::from_slice(&usage.body).unwrap();
    assert_eq!(usage["total"]["unpriced"], 1);
    assert_eq!(usage["total"]["cost_nanodollars"], 0);
}

#[tokio::test]
async fn a_gateway_that_stops_writes_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("ledger");
    let upstream = Upstream::start([answer()]).await;
    let server = TestGateway::start(&config(&upstream, &place)).await;
    server.post("/v1/chat/completions", BODY).await;
    server.stop().await;
    let mut store = SqliteStore::open(&place).unwrap();
    let rows = store.usage(&UsageQuery {
        since_millis: 0,
        until_millis: i64::MAX >> 16,
        by: vec![GroupBy::Target],
        utc_offset_minutes: 0,
        as_recorded: false,
    });
    let rows = rows.unwrap();
    assert_eq!(rows[0].sums.cost.nanodollars(), COST);
    assert_eq!(store.verify().unwrap().problems, [] as [&str; 0]);
}

#[tokio::test]
async fn a_store_that_cannot_be_written_does_not_fail_requests() {
    let folder = tempfile::tempdir().unwrap();
    // A file is in the place of the folder.
    let place = folder.path().join("ledger");
    std::fs::write(&place, "").unwrap();
    let upstream = Upstream::start([answer()]).await;
    let server = TestGateway::start(&config(&upstream, &place)).await;
    let answer = server.post("/v1/chat/completions", BODY).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let usage = server.send_to_operator("/api/usage", &[], b"").await;
    assert_eq!(usage.status, 503, "{}", usage.text());
    let metrics = server.send_to_operator("/metrics", &[], b"").await;
    assert!(metrics.text().contains("majordomo_ledger_available 0"));
    // The store returns: nothing was lost, without a restart.
    std::fs::remove_file(&place).unwrap();
    loop {
        let usage = server.send_to_operator("/api/usage", &[], b"").await;
        let usage: Value = serde_json::from_slice(&usage.body).unwrap_or_default();
        if usage["total"]["attempts"] == 1 {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_store_that_is_locked_delays_no_request_and_gets_every_row_afterwards() {
    // MAJORDOMO_LEDGER_LOCK: sixty seconds by `./test --long`.
    let seconds = majordomo_testkit::started("MAJORDOMO_LEDGER_LOCK");
    let seconds: u64 = seconds.map_or(3, |seconds| seconds.parse().expect("seconds"));
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("ledger");
    let upstream = Upstream::start((0..1_000).map(|_| answer())).await;
    let server = TestGateway::start(&config(&upstream, &place)).await;
    server.post("/v1/chat/completions", BODY).await;
    let usage = server.send_to_operator("/api/usage", &[], b"").await;
    assert_eq!(usage.status, 200, "{}", usage.text());
    let lock = rusqlite::Connection::open(place.join("ledger.db")).unwrap();
    lock.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let began = tokio::time::Instant::now();
    let mut sent = 1;
    while began.elapsed() < Duration::from_secs(seconds) {
        let asked = tokio::time::Instant::now();
        let answer = server.post("/v1/chat/completions", BODY).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let took = asked.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}");
        sent += 1;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    lock.execute_batch("ROLLBACK").unwrap();
    loop {
        let usage = server.send_to_operator("/api/usage", &[], b"").await;
        let usage: Value = serde_json::from_slice(&usage.body).unwrap_or_default();
        if usage["total"]["requests"] == sent {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn without_a_ledger_the_report_names_the_setting() {
    let server = TestGateway::start("[ledger]\nstore = \"off\"\n").await;
    let usage = server.send_to_operator("/api/usage", &[], b"").await;
    assert_eq!(usage.status, 404);
    assert!(usage.text().contains("[ledger]"), "{}", usage.text());
}

#[tokio::test]
async fn two_gateways_share_a_ledger_in_postgres() {
    let Some(database) = majordomo_testkit::Postgres::started() else {
        return;
    };
    let url = database.database();
    let upstream = Upstream::start([answer(), answer(), answer()]).await;
    let config = format!(
        "[providers.up]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\napi_key = \"k\"\n\
         [ledger]\nstore = \"{url}\"\n\
         [prices.\"up/m\"]\ninput = \"1\"\noutput = \"10\"\ncache_read = \"0.1\"\n",
        upstream.address(),
    );
    let (a, b) = tokio::join!(TestGateway::start(&config), TestGateway::start(&config));
    for server in [&a, &b, &a] {
        let answer = server.post("/v1/chat/completions", BODY).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    // Each flushes its own rows before it reports.
    a.send_to_operator("/api/usage", &[], b"").await;
    let usage = b.send_to_operator("/api/usage?by=target", &[], b"").await;
    assert_eq!(usage.status, 200, "{}", usage.text());
    let usage: Value = serde_json::from_slice(&usage.body).unwrap();
    assert_eq!(usage["rows"][0]["group"][0], "up/m");
    assert_eq!(usage["total"]["cost_nanodollars"], 3 * COST);
    a.stop().await;
    b.stop().await;
}
