//! Several keys of one provider: conversations keep theirs, and each key is benched by itself.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::serve::test_gateway::TestGateway;
use crate::serve::vendor::{Vendor, VendorReply, VendorRequest};

const KEYS: [&str; 2] = ["CANARY-first-key", "CANARY-second-key"];

const SERVED: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}"#;

fn config(vendor: &Vendor) -> String {
    format!(
        "[providers.up]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\napi_keys = [\"{}\", \"{}\"]\n",
        vendor.address(),
        KEYS[0],
        KEYS[1]
    )
}

/// The number of the key that a request carries.
fn key_of(request: &VendorRequest) -> usize {
    let key = request.header("authorization").expect("it has a key");
    KEYS.iter()
        .position(|known| key.ends_with(known))
        .expect("a known key")
}

fn turn(conversation: usize, turn: usize) -> String {
    let mut messages = vec![format!(
        r#"{{"role":"user","content":"conversation {conversation}"}}"#
    )];
    for _ in 0..turn {
        messages.push(r#"{"role":"assistant","content":"yes"}"#.to_owned());
        messages.push(r#"{"role":"user","content":"go on"}"#.to_owned());
    }
    format!(r#"{{"model":"up/m","messages":[{}]}}"#, messages.join(","))
}

/// The state of a subject in `/api/health`.
async fn state_of(gateway: &TestGateway, subject: &str) -> Option<String> {
    let health = gateway.send_to_operator("/api/health", &[], b"").await;
    assert!(!health.text().contains("CANARY"), "{}", health.text());
    let health = health.json();
    let targets = health["targets"].as_array()?;
    let found = targets.iter().find(|it| it["target"] == subject)?;
    Some(found["state"].as_str()?.to_owned())
}

#[tokio::test]
async fn no_request_fails_when_a_key_is_exhausted_and_a_conversation_moves_once() {
    let calls = AtomicUsize::new(0);
    let vendor = Vendor::start(move |request| {
        if key_of(request) == 0 && calls.fetch_add(1, Ordering::Relaxed) >= 20 {
            let body = r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#;
            return VendorReply::new(429, body).header("retry-after", "600");
        }
        VendorReply::new(200, SERVED)
    })
    .await;
    let gateway = TestGateway::start(&config(&vendor)).await;
    for number in 0..8 {
        for conversation in 0..10 {
            let body = turn(conversation, number);
            let response = gateway.post("/v1/chat/completions", body).await;
            assert_eq!(response.status, 200, "{}", response.text());
        }
    }
    let mut keys: HashMap<String, Vec<usize>> = HashMap::new();
    for request in vendor.requests() {
        let body: serde_json::Value = serde_json::from_str(&request.body).unwrap();
        let first = body["messages"][0]["content"].as_str().unwrap().to_owned();
        keys.entry(first).or_default().push(key_of(&request));
    }
    assert_eq!(keys.len(), 10);
    let moves = |keys: &Vec<usize>| keys.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(keys.values().all(|keys| moves(keys) <= 1), "{keys:?}");
    let began_with = |key| keys.values().filter(|keys| keys[0] == key).count();
    assert!(began_with(0) > 0 && began_with(1) > 0, "{keys:?}");
    let exhausted = vendor
        .requests()
        .iter()
        .filter(|it| key_of(it) == 0)
        .count();
    assert_eq!(exhausted, 21, "the exhausted key was tried once");
    assert_eq!(
        state_of(&gateway, "up key 1/m").await.as_deref(),
        Some("benched")
    );
    assert_eq!(
        state_of(&gateway, "up key 2/m").await.as_deref(),
        Some("usable")
    );
    assert_eq!(state_of(&gateway, "up/m").await.as_deref(), Some("usable"));
    gateway.stop().await;
}

#[tokio::test]
async fn a_rejected_key_rests_alone() {
    let vendor = Vendor::start(|request| match key_of(request) {
        0 => VendorReply::new(
            401,
            format!(
                r#"{{"error":{{"message":"bad key {}","code":"invalid_api_key"}}}}"#,
                KEYS[0]
            ),
        ),
        _ => VendorReply::new(200, SERVED),
    })
    .await;
    let gateway = TestGateway::start(&config(&vendor)).await;
    for conversation in 0..20 {
        let response = gateway
            .post("/v1/chat/completions", turn(conversation, 0))
            .await;
        assert_eq!(response.status, 200, "{}", response.text());
    }
    let rejected = vendor
        .requests()
        .iter()
        .filter(|it| key_of(it) == 0)
        .count();
    assert_eq!(rejected, 1);
    assert_eq!(
        state_of(&gateway, "up key 1").await.as_deref(),
        Some("benched")
    );
    assert_eq!(
        state_of(&gateway, "up key 2").await.as_deref(),
        Some("usable")
    );
    let path = "/api/targets/up/m/release";
    let released = gateway.send_to_operator(path, &[], b"{}").await;
    assert!(released.text().contains("up key 1"), "{}", released.text());
    assert_eq!(
        state_of(&gateway, "up key 1").await.as_deref(),
        Some("usable")
    );
    gateway.stop().await;
}

#[tokio::test]
async fn a_pause_of_all_keys_reaches_the_client() {
    let vendor = Vendor::start(|request| {
        let wait = ["40", "20"][key_of(request)];
        VendorReply::new(429, r#"{"error":{"message":"slow down"}}"#).header("retry-after", wait)
    })
    .await;
    let gateway = TestGateway::start(&config(&vendor)).await;
    for calls in [2, 2] {
        let response = gateway.post("/v1/chat/completions", turn(1, 0)).await;
        assert_eq!(response.status, 429, "{}", response.text());
        let wait: u64 = response.header("retry-after").unwrap().parse().unwrap();
        assert!(wait <= 40, "{wait}");
        assert_eq!(vendor.requests().len(), calls, "each key is tried once");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn the_most_promising_key_decides_when_to_retry() {
    let vendor = Vendor::start(
        |request| match (key_of(request), request.body.contains("one")) {
            (0, true) => VendorReply::new(401, r#"{"error":{"message":"unknown key"}}"#),
            (key, _) => {
                let wait = ["40", "20"][key];
                VendorReply::new(429, r#"{"error":{"message":"slow down"}}"#)
                    .header("retry-after", wait)
            }
        },
    )
    .await;
    let gateway = TestGateway::start(&config(&vendor)).await;
    let mut first = [0, 0];
    for model in 0..12 {
        let calls = vendor.requests().len();
        let body = turn(model, 0).replace("up/m", &format!("up/m{model}"));
        let response = gateway.post("/v1/chat/completions", body).await;
        assert_eq!(response.status, 429, "{}", response.text());
        assert_eq!(response.header("retry-after"), Some("20"), "model {model}");
        let sent = &vendor.requests()[calls..];
        assert_eq!(sent.len(), 2, "each key is tried once");
        first[key_of(&sent[0])] += 1;
    }
    assert!(first[0] > 0 && first[1] > 0, "in both orders: {first:?}");
    let body = turn(0, 0).replace("up/m", "up/one");
    let response = gateway.post("/v1/chat/completions", body).await;
    assert_eq!(
        response.header("retry-after"),
        Some("20"),
        "{}",
        response.text()
    );
    gateway.stop().await;
}

#[tokio::test]
async fn new_conversations_avoid_a_key_whose_quota_is_used_up() {
    let vendor = Vendor::start(|request| {
        let left = ["0", "90"][key_of(request)];
        VendorReply::new(200, SERVED)
            .header("x-ratelimit-limit-requests", "100")
            .header("x-ratelimit-remaining-requests", left)
            .header("x-ratelimit-reset-requests", "10m0s")
    })
    .await;
    let gateway = TestGateway::start(&config(&vendor)).await;
    for conversation in 0..20 {
        let response = gateway
            .post("/v1/chat/completions", turn(conversation, 0))
            .await;
        assert_eq!(response.status, 200, "{}", response.text());
    }
    let first = vendor
        .requests()
        .iter()
        .filter(|it| key_of(it) == 0)
        .count();
    assert_eq!(first, 1, "its first response reported the quota");
    let health = gateway
        .send_to_operator("/api/health", &[], b"")
        .await
        .json();
    let targets = health["targets"].as_array().unwrap();
    let of = |name: &str| targets.iter().find(|it| it["target"] == name).unwrap();
    assert_eq!(of("up key 1/m")["quota"]["requests"]["left"], 0);
    assert_eq!(of("up key 2/m")["quota"]["requests"]["left"], 90);
    let page = gateway.send_to_operator("/targets", &[], b"").await;
    assert!(
        page.text().contains("left: 90 of 100 requests"),
        "{}",
        page.text()
    );
    gateway.stop().await;
}
