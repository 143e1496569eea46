//! Budgets and seats under load, and as several gateways and restarts see them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use majordomo_ledger::{Cost, LeaseRequest, StorePlace};
use majordomo_testkit::{Script, Upstream};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::limits::{CHAT, answer, config};
use crate::serve::test_gateway::TestGateway;

/// The nanodollars of one response: 100 tokens in, 100 out.
const COST: u64 = 100 * 1_000 + 100 * 10_000;
/// The cost of one response's input: its estimate cannot be wrong by more.
const INPUT: u64 = 100 * 1_000;
const WITHIN: Duration = Duration::from_secs(60);

fn with_max_tokens(most: u32) -> String {
    CHAT.replace(
        "\"messages\"",
        &format!("\"max_tokens\":{most},\"messages\""),
    )
}

/// The configuration with a ledger in a folder.
fn stored(upstream: &Upstream, folder: &Path, rest: &str) -> String {
    let place = format!("store = \"sqlite://{}\"", folder.display());
    config(upstream, rest).replace("store = \"off\"", &place)
}

/// The status of a single request.
async fn status(gateway: &TestGateway, body: &str) -> u16 {
    let response = gateway.post("/v1/chat/completions", body.to_owned()).await;
    response.status.as_u16()
}

/// Sends a request many times over one connection; returns how many were served.
async fn client(gateway: Arc<TestGateway>, requests: usize, body: String) -> u64 {
    let stream = TcpStream::connect(gateway.address)
        .await
        .expect("it listens");
    let connecting = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = connecting.expect("it speaks HTTP");
    let driver = tokio::spawn(connection);
    let mut served = 0;
    for _ in 0..requests {
        let request = Request::builder()
            .method(Method::POST)
            .uri("/v1/chat/completions")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body.clone())))
            .expect("a request can be made");
        sender.ready().await.expect("it keeps the connection");
        let response = sender.send_request(request).await.expect("it answers");
        let status = response.status().as_u16();
        let body = response
            .into_body()
            .collect()
            .await
            .expect("a whole body")
            .to_bytes();
        match status {
            200 => served += 1,
            429 => {}
            // Several gateways may keep the folder busy for longer than a request waits.
            503 if body.windows(5).any(|word| word == b"store") => {}
            _ => panic!("{status}: {}", String::from_utf8_lossy(&body)),
        }
    }
    driver.abort();
    served
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_clients_and_ten_thousand_requests_spend_at_most_the_budget() {
    const BUDGET: u64 = 1_000_000_000;
    let upstream = Upstream::start((0..200).map(|_| answer().times(1_000))).await;
    let limits = "[limits]\nbudget = { day = \"1 USD\" }\n";
    let gateway = Arc::new(TestGateway::start(&config(&upstream, limits)).await);
    let mut clients = JoinSet::new();
    for _ in 0..100 {
        clients.spawn(client(Arc::clone(&gateway), 100, with_max_tokens(100)));
    }
    let served: u64 = clients.join_all().await.into_iter().sum();
    let counted = upstream.requests().len() as u64;
    assert_eq!(counted, served, "what the upstream counts");
    let (spent, error) = (counted * COST, counted * INPUT);
    println!(
        "10000 requests, {served} served: {spent} of {BUDGET} nanodollars, {} above the budget, \
         estimate error at most {error}",
        spent.saturating_sub(BUDGET)
    );
    assert!(spent <= BUDGET + error, "{spent}");
    assert!(spent >= BUDGET * 9 / 10, "{spent}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_clients_spend_at_most_what_three_levels_allow() {
    const BUDGET: u64 = 100_000_000;
    let upstream = Upstream::start((0..200).map(|_| answer().times(1_000))).await;
    let limits = "[limits]\nbudget = { day = \"10 USD\" }\n\
                  [[teams]]\nname = \"team\"\nbudget = { week = \"0.1 USD\" }\n\
                  [[keys]]\nname = \"k\"\nkey = \"CANARY-of-the-client\"\nteam = \"team\"\n\
                  budget = { month = \"5 USD\" }\n";
    let gateway = TestGateway::start(&config(&upstream, limits)).await;
    let key = [("authorization", "Bearer CANARY-of-the-client")];
    let body = with_max_tokens(100);
    let asking = (0..100).map(|_| gateway.request("/v1/chat/completions", &key, &body));
    let responses = futures_util::future::join_all(asking).await;
    let served = responses.iter().filter(|it| it.status == 200).count() as u64;
    assert_eq!(upstream.requests().len() as u64, served);
    assert!(served * COST <= BUDGET + served * INPUT, "{served}");
    // A refusal leaves every level as it was: all have the same spending.
    let own = gateway.request("/v1/key", &key, "").await.json();
    let budgets = own["remaining"]["budgets"].as_array().expect("a list");
    let levels: Vec<_> = budgets
        .iter()
        .map(|it| it["level"].as_str().expect("a text"))
        .collect();
    assert_eq!(levels, ["global", "team", "key"], "{own}");
    let spent =
        Cost::from_nanodollars((served * COST).try_into().expect("it is small")).to_string();
    for budget in budgets {
        assert_eq!(budget["used_usd"], spent, "{own}");
        assert_eq!(budget["reserved_usd"], "0.00", "{own}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_gateways_on_one_store_spend_at_most_the_budget() {
    const BUDGET: u64 = 200_000_000;
    let folder = tempfile::tempdir().expect("a folder can be made");
    let upstream = Upstream::start((0..300).map(|_| answer().times(1_000))).await;
    let limits = "[limits]\nbudget = { day = \"0.2 USD\" }\n";
    let config = stored(&upstream, &folder.path().join("ledger"), limits);
    let mut gateways = Vec::new();
    for _ in 0..3 {
        let gateway = Arc::new(TestGateway::start(&config).await);
        assert_eq!(status(&gateway, &with_max_tokens(100)).await, 200);
        gateways.push(gateway);
    }
    let mut clients = JoinSet::new();
    for gateway in &gateways {
        for _ in 0..33 {
            clients.spawn(client(Arc::clone(gateway), 10, with_max_tokens(100)));
        }
    }
    let served: u64 = clients.join_all().await.into_iter().sum();
    let counted = upstream.requests().len() as u64;
    assert_eq!(counted, served + 3);
    let (spent, error) = (counted * COST, counted * INPUT);
    println!("three gateways: {spent} of {BUDGET} nanodollars, estimate error at most {error}");
    assert!(spent <= BUDGET + error, "{spent}");
    assert!(spent >= BUDGET / 2, "{spent}");
}

/// The taken amount of everyone's daily budget, according to a store.
fn taken(folder: &Path) -> Cost {
    let place = StorePlace::Folder(folder.to_owned());
    let today = std::time::UNIX_EPOCH
        .elapsed()
        .expect("it is past 1970")
        .as_secs()
        / 86_400;
    let ask = LeaseRequest {
        budget: "global/day".into(),
        window: today.try_into().expect("it is small"),
        limit: Cost::ZERO,
        amount: Cost::ZERO,
        least: Cost::ZERO,
        opening: None,
    };
    place
        .open()
        .expect("the store opens")
        .grant_lease(&ask)
        .expect("it can be asked")
        .taken
}

#[tokio::test]
async fn a_second_gateway_on_the_same_folder_leaves_the_leases_of_the_first_alone() {
    let place = tempfile::tempdir().expect("a folder can be made");
    let folder = place.path().join("ledger");
    let upstream = Upstream::start((0..4).map(|_| answer())).await;
    let limits = "[limits]\nbudget = { day = \"1 USD\" }\n";
    let config = stored(&upstream, &folder, limits);
    let body = with_max_tokens(1_000);
    let first = TestGateway::start(&config).await;
    assert_eq!(status(&first, &body).await, 200);
    let second = TestGateway::start(&config).await;
    assert_eq!(status(&second, &body).await, 200);
    assert_eq!(status(&first, &body).await, 200);
    first.stop().await;
    second.stop().await;
    // Nothing was wasted: three responses, to the nanodollar.
    assert_eq!(taken(&folder).nanodollars() as u64, 3 * COST);
}

#[tokio::test]
async fn a_budget_that_is_new_begins_with_what_its_window_has_cost() {
    let place = tempfile::tempdir().expect("a folder can be made");
    let folder = place.path().join("ledger");
    let upstream = Upstream::start((0..2).map(|_| answer())).await;
    let before = TestGateway::start(&stored(&upstream, &folder, "")).await;
    for _ in 0..2 {
        assert_eq!(before.post("/v1/chat/completions", CHAT).await.status, 200);
    }
    before.stop().await;
    let limits = "[limits]\nbudget = { day = \"0.0115 USD\" }\n";
    let gateway = TestGateway::start(&stored(&upstream, &folder, limits)).await;
    let refused = gateway
        .post("/v1/chat/completions", with_max_tokens(1_000))
        .await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    let text = refused.text();
    assert!(text.contains("0.0093 of 0.0115 USD"), "{text}");
}

#[tokio::test]
async fn a_keys_holder_sees_what_is_left_and_when_it_resets() {
    let place = tempfile::tempdir().expect("a folder can be made");
    let folder = place.path().join("ledger");
    let upstream = Upstream::start((0..2).map(|_| answer())).await;
    let key = "[[keys]]\nname = \"k\"\nkey = \"CANARY-of-the-client\"\n\
               limits = { requests_per_minute = 12 }\nbudget = { day = \"1 USD\", total = \"5 USD\" }\n";
    let config = stored(&upstream, &folder, key);
    let bearer = [("authorization", "Bearer CANARY-of-the-client")];
    let gateway = TestGateway::start(&config).await;
    let body = with_max_tokens(100);
    while gateway
        .request("/v1/chat/completions", &bearer, &body)
        .await
        .status
        != 200
    {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    gateway.stop().await;
    // Another process reads it from the store before its first request.
    let gateway = TestGateway::start(&config).await;
    let status = || async {
        let own = gateway.request("/v1/key", &bearer, "").await;
        own.json()["remaining"].clone()
    };
    let known = async {
        loop {
            let seen = status().await;
            if seen["budgets"][0]["used_usd"] != "0.00" {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let seen = tokio::time::timeout(WITHIN, known)
        .await
        .expect("it is known");
    assert_eq!(seen["requests"]["limit"], 12, "{seen}");
    assert_eq!(seen["requests"]["remaining"], 2, "{seen}");
    let [day, total] = [&seen["budgets"][0], &seen["budgets"][1]];
    assert_eq!(
        (&day["level"], &day["window"]),
        (&"key".into(), &"day".into())
    );
    assert_eq!(day["remaining_usd"], "0.9989", "{seen}");
    assert!(
        day["resets"]
            .as_str()
            .expect("a text")
            .ends_with("T00:00:00Z"),
        "{seen}"
    );
    assert_eq!(total["remaining_usd"], "4.9989", "{seen}");
    assert_eq!(total["resets"], serde_json::Value::Null, "{seen}");
}

/// Every byte below a folder.
fn all_bytes(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder can be read") {
        let path = entry.expect("a folder can be read").path();
        match path.is_dir() {
            true => bytes.extend(all_bytes(&path)),
            false => bytes.extend(std::fs::read(path).expect("a file can be read")),
        }
    }
    bytes
}

#[tokio::test]
async fn budgets_of_end_users_whose_names_are_hashed_have_no_names() {
    let place = tempfile::tempdir().expect("a folder can be made");
    let folder = place.path().join("ledger");
    let upstream = Upstream::start((0..2).map(|_| answer())).await;
    let rest = "[end_users]\nbudget = { day = \"1 USD\" }\n\
                [[keys]]\nname = \"k\"\nkey = \"CANARY-of-the-client\"\nasserts_users = true\n";
    for (hashed, found) in [("\nend_users = \"hash\"", false), ("", true)] {
        let config =
            stored(&upstream, &folder, rest).replace("ledger\"\n", &format!("ledger\"{hashed}\n"));
        let gateway = TestGateway::start(&config).await;
        let headers = [
            ("authorization", "Bearer CANARY-of-the-client"),
            ("x-majordomo-user", "ann@example.com"),
        ];
        while gateway
            .request("/v1/chat/completions", &headers, CHAT)
            .await
            .status
            != 200
        {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        gateway.stop().await;
        let bytes = all_bytes(&folder);
        let name = b"user/ann@example.com/day";
        let named = bytes.windows(name.len()).any(|window| window == name);
        assert_eq!(named, found, "{hashed}");
    }
}

#[tokio::test]
async fn the_first_requests_of_an_unknown_end_user_are_bound_by_the_default_at_once() {
    let upstream = Upstream::start((0..8).map(|_| answer())).await;
    let rest = "[end_users]\nlimits = { requests_per_minute = 12 }\n\
                [[keys]]\nname = \"k\"\nkey = \"CANARY-of-the-client\"\nasserts_users = true\n";
    let gateway = TestGateway::start(&config(&upstream, rest)).await;
    let headers = [
        ("authorization", "Bearer CANARY-of-the-client"),
        ("x-majordomo-user", "ann"),
    ];
    let asking = (0..8).map(|_| gateway.request("/v1/chat/completions", &headers, CHAT));
    let responses = futures_util::future::join_all(asking).await;
    let served = responses.iter().filter(|it| it.status == 200).count();
    assert_eq!(served, 2, "the burst of twelve per minute");
    let refused = responses
        .iter()
        .find(|it| it.status == 429)
        .expect("one is refused");
    assert!(
        refused.text().contains("the end user `ann`"),
        "{}",
        refused.text()
    );
}

#[tokio::test]
async fn a_lowered_budget_refuses_and_a_raised_one_admits_without_a_restart() {
    let upstream = Upstream::start((0..8).map(|_| answer())).await;
    let of = |usd: &str| {
        let limits = format!("[limits]\nbudget = {{ day = \"{usd} USD\" }}\n");
        config(&upstream, &limits)
    };
    let gateway = TestGateway::start(&of("0.01")).await;
    let body = with_max_tokens(100);
    for _ in 0..2 {
        let served = gateway.post("/v1/chat/completions", body.clone()).await;
        assert_eq!(served.status, 200, "{}", served.text());
    }
    // 0.0022 USD are spent.
    for (usd, status) in [("0.002", 429), ("0.02", 200)] {
        gateway.rewrite(&of(usd));
        let applied = async {
            while gateway
                .post("/v1/chat/completions", body.clone())
                .await
                .status
                != status
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(WITHIN, applied).await.expect(usd);
    }
}

#[tokio::test]
async fn a_single_request_waits_at_most_one_turn_behind_the_crowd_of_another_key() {
    const CROWD: usize = 30;
    let everyone = "[limits]\nconcurrent = 1\nqueue = \"60s\"\n";
    let team = "[[teams]]\nname = \"team\"\nlimits = { concurrent = 1, queue = \"60s\" }\n";
    let case = |limits: &'static str, of_team: &'static str| async move {
        // The first request holds the seat until all others wait for it.
        let first = Script::new().read_request().wait(Duration::from_secs(2));
        let first = first.respond(200, "application/json", ANSWER);
        let scripts = std::iter::once(first).chain((0..60).map(|_| answer()));
        let upstream = Upstream::start(scripts).await;
        let key =
            |name: &str| format!("[[keys]]\nname = \"{name}\"\nkey = \"CANARY-{name}\"\n{of_team}");
        let rest = format!("{limits}{}{}", key("crowd"), key("single"));
        let gateway = Arc::new(TestGateway::start(&config(&upstream, &rest)).await);
        let ask = |name: &'static str| {
            let gateway = Arc::clone(&gateway);
            async move {
                let bearer = format!("Bearer CANARY-{name}");
                let body = CHAT.replace("hi", name);
                let headers = [("authorization", bearer.as_str())];
                let response = gateway
                    .request("/v1/chat/completions", &headers, &body)
                    .await;
                assert_eq!(response.status, 200, "{}", response.text());
            }
        };
        let mut asking = JoinSet::new();
        (0..CROWD).for_each(|_| drop(asking.spawn(ask("crowd"))));
        open_requests(&gateway, CROWD).await;
        asking.spawn(ask("single"));
        open_requests(&gateway, CROWD + 1).await;
        assert!(upstream.requests().len() <= 1, "the first one was too fast");
        asking.join_all().await;
        let sent = upstream.requests();
        let single = |body: &[u8]| body.windows(6).any(|word| word == b"single");
        let at = sent
            .iter()
            .position(|request| single(&request.body))
            .expect("it was sent");
        // After the one that ran, and at most one turn of the crowd.
        assert!(at <= 2, "{limits}: the single request is number {at}");
    };
    tokio::join!(case(everyone, ""), case(team, "team = \"team\"\n"));
}

const ANSWER: &str = r#"{"id":"x","model":"m","choices":[{"index":0,"message":{"role":"assistant",
    "content":"ok"},"finish_reason":"stop"}]}"#;

/// Waits until this many requests are open.
async fn open_requests(gateway: &TestGateway, count: usize) {
    let line = format!("majordomo_open_requests {count}\n");
    let open = async {
        loop {
            let metrics = gateway.send_to_operator("/metrics", &[], b"").await;
            if metrics.text().contains(&line) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(WITHIN, open)
        .await
        .expect("they are open");
}

#[tokio::test]
async fn a_describer_that_the_budget_does_not_cover_is_a_refusal_of_the_budget() {
    let upstream = Upstream::start((0..4).map(|_| answer())).await;
    let image = r#"{"model":"blind","messages":[{"role":"user","content":[
        {"type":"text","text":"what is it?"},{"type":"image_url","image_url":{"url":
        "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"}}]}]}"#;
    let rule = "[[routes]]\nmodel = \"blind\"\nservices = [ { spec = \"demo/text\" } ]\n\
                [[routes.smart]]\nname = \"eyes\"\n\
                when = [ { position = \"proxy_vision\", op = \"enabled\" } ]\n\
                services = [ { spec = \"up/m\" } ]\n";
    let route = "[[routes]]\nmodel = \"blind\"\ndescribe = \"up/m\"\n\
                 services = [ { spec = \"demo/text\" } ]\n";
    for routes in [rule, route] {
        let limits =
            "[limits]\nbudget = { day = \"0.000001 USD\" }\n[vision]\non_failure = \"fail\"\n";
        let gateway = TestGateway::start(&config(&upstream, &format!("{limits}{routes}"))).await;
        let refused = gateway.post("/v1/chat/completions", image).await;
        assert_eq!(refused.status, 429, "{routes}: {}", refused.text());
        assert_eq!(refused.json()["error"]["code"], "insufficient_quota");
        assert_eq!(refused.header("x-should-retry"), Some("false"));
        assert_eq!(upstream.requests().len(), 0);
    }
}

#[tokio::test]
async fn streams_of_a_budget_ask_any_server_for_usage_and_keep_its_chunk_to_themselves() {
    let events = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"}}]}\n\n\
                  data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
                  data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":100,\"total_tokens\":200}}\n\n\
                  data: [DONE]\n\n";
    let budget = "[limits]\nbudget = { day = \"1 USD\" }\n";
    let cases = [
        ("", "", false),
        (budget, "", true),
        // The operator of the server knows better.
        (budget, "stream_usage = false\n", false),
    ];
    for (limits, setting, asked) in cases {
        let stream = Script::new().read_request();
        let upstream = Upstream::start([stream.respond(200, "text/event-stream", events)]).await;
        let config = config(&upstream, limits);
        let config = config.replace("[ledger]", &format!("{setting}[ledger]"));
        let gateway = TestGateway::start(&config).await;
        let body = with_max_tokens(100).replace("\"messages\"", "\"stream\":true,\"messages\"");
        let response = gateway.post("/v1/chat/completions", body).await;
        let text = response.text();
        assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
        let sent = String::from_utf8_lossy(&upstream.requests()[0].body).into_owned();
        assert_eq!(
            sent.contains("\"include_usage\":true"),
            asked,
            "{limits}{setting}: {sent}"
        );
        assert_eq!(text.contains("prompt_tokens"), !asked, "{text}");
    }
}
