//! Limits and budgets of a gateway, as clients and upstreams see them.

use std::time::Duration;

use majordomo_testkit::{Script, Upstream};
use serde_json::Value;

use crate::serve::test_gateway::{TestGateway, TestResponse};

pub(super) const CHAT: &str = r#"{"model":"up/m","messages":[{"role":"user","content":"hi"}]}"#;
const MESSAGES: &str =
    r#"{"model":"up/m","max_tokens":1000,"messages":[{"role":"user","content":"hi"}]}"#;
const GEMINI: &str = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#;

/// 100 tokens in, 100 out: 0.0011 USD at 1 and 10 USD per million.
pub(super) fn answer() -> Script {
    let body = r#"{"id":"x","model":"m","choices":[{"index":0,"message":{"role":"assistant",
        "content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,
        "completion_tokens":100,"total_tokens":200}}"#;
    Script::new()
        .read_request()
        .respond(200, "application/json", body)
}

pub(super) fn config(upstream: &Upstream, rest: &str) -> String {
    format!(
        "[providers.up]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\napi_key = \"upstream-key\"\n\
         [ledger]\nstore = \"off\"\n\
         [prices.\"up/m\"]\ninput = \"1\"\noutput = \"10\"\n\
         [prices.\"up/cheap\"]\ninput = \"0.01\"\noutput = \"0.01\"\n{rest}",
        upstream.address()
    )
}

fn json(response: &TestResponse) -> Value {
    serde_json::from_slice(&response.body).unwrap_or_else(|_| panic!("{}", response.text()))
}

#[tokio::test]
async fn a_request_beyond_the_rate_is_refused_with_the_time_to_wait() {
    let upstream = Upstream::start([answer(), answer()]).await;
    let limits = "[limits]\nrequests_per_minute = 12\n";
    let server = TestGateway::start(&config(&upstream, limits)).await;
    for remaining in ["1", "0"] {
        let served = server.post("/v1/chat/completions", CHAT).await;
        assert_eq!(served.status, 200, "{}", served.text());
        assert_eq!(served.header("x-ratelimit-limit-requests"), Some("12"));
        assert_eq!(
            served.header("x-ratelimit-remaining-requests"),
            Some(remaining)
        );
    }
    let refused = server.post("/v1/chat/completions", CHAT).await;
    assert_eq!(refused.status, 429);
    assert_eq!(json(&refused)["error"]["code"], "rate_limit_exceeded");
    assert_eq!(refused.header("retry-after"), Some("5"));
    let millis: u64 = refused.header("retry-after-ms").unwrap().parse().unwrap();
    assert!((4_000..=5_000).contains(&millis), "{millis}");
    assert_eq!(refused.header("x-should-retry"), None);
}

#[tokio::test]
async fn waiting_for_the_time_in_a_refusal_admits() {
    let upstream = Upstream::start(std::iter::repeat_with(answer).take(40)).await;
    let limits = "[limits]\nrequests_per_minute = 120\n";
    let server = TestGateway::start(&config(&upstream, limits)).await;
    let mut refused = None;
    for _ in 0..40 {
        let response = server.post("/v1/chat/completions", CHAT).await;
        if response.status == 429 {
            refused = Some(response);
            break;
        }
    }
    let refused = refused.expect("40 requests are more than two a second allow");
    let millis: u64 = refused.header("retry-after-ms").unwrap().parse().unwrap();
    tokio::time::sleep(Duration::from_millis(millis)).await;
    let served = server.post("/v1/chat/completions", CHAT).await;
    assert_eq!(served.status, 200, "{}", served.text());
}

#[tokio::test]
async fn a_budget_that_does_not_cover_the_bound_refuses_before_any_call() {
    let upstream = Upstream::start([answer()]).await;
    let limits = "[limits]\nbudget = { day = \"0.01 USD\" }\nreserve_output = 500000\n";
    let server = TestGateway::start(&config(&upstream, limits)).await;
    let refused = server.post("/v1/chat/completions", CHAT).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("x-should-retry"), Some("false"));
    let error = &json(&refused)["error"];
    assert_eq!(
        (&error["type"], &error["code"]),
        (&"insufficient_quota".into(), &"insufficient_quota".into())
    );
    let text = error["message"].as_str().unwrap();
    assert!(text.contains("the budget of the gateway"), "{text}");
    assert!(
        text.contains("0.01 of 0.01 USD (day) are left; it resets at "),
        "{text}"
    );
    let gemini = server
        .post("/v1beta/models/up%2Fm:generateContent", GEMINI)
        .await;
    assert_eq!(gemini.status, 429, "{}", gemini.text());
    let error = &json(&gemini)["error"];
    assert_eq!(error["status"], "RESOURCE_EXHAUSTED");
    assert!(
        error["details"].to_string().contains("QuotaFailure"),
        "{error}"
    );
    let messages = MESSAGES.replace("1000", "500000");
    let anthropic = server.post("/v1/messages", messages).await;
    assert_eq!(anthropic.status, 402, "{}", anthropic.text());
    assert_eq!(json(&anthropic)["error"]["type"], "billing_error");
    assert_eq!(anthropic.header("x-should-retry"), Some("false"));
    assert_eq!(upstream.requests().len(), 0);
}

#[tokio::test]
async fn a_strict_budget_sets_a_maximum_and_lists_it() {
    let upstream = Upstream::start([answer()]).await;
    let limits = "[limits]\nbudget = { day = \"1 USD\" }\n";
    let server = TestGateway::start(&config(&upstream, limits)).await;
    let served = server.post("/v1/chat/completions", CHAT).await;
    assert_eq!(served.status, 200, "{}", served.text());
    assert_eq!(served.header("x-majordomo-changes"), Some("max_tokens set"));
    let sent = String::from_utf8_lossy(&upstream.requests()[0].body).into_owned();
    assert!(sent.contains("8192"), "{sent}");
}

#[tokio::test]
async fn clamp_lowers_the_maximum_to_what_is_left_and_lists_it() {
    let upstream = Upstream::start([answer()]).await;
    let limits = "[limits]\nbudget = { day = \"0.01 USD\" }\nwhen_exhausted = \"clamp\"\n";
    let server = TestGateway::start(&config(&upstream, limits)).await;
    let asked = CHAT.replace("\"messages\"", "\"max_tokens\":5000,\"messages\"");
    let served = server.post("/v1/chat/completions", asked).await;
    assert_eq!(served.status, 200, "{}", served.text());
    assert_eq!(
        served.header("x-majordomo-changes"),
        Some("max_tokens lowered")
    );
    let sent: Value = serde_json::from_slice(&upstream.requests()[0].body).unwrap();
    let most = sent["max_tokens"]
        .as_u64()
        .or(sent["max_completion_tokens"].as_u64());
    // 0.01 USD are 1,000 tokens of output, less a few of input.
    assert!(
        most.is_some_and(|most| (900..1_000).contains(&most)),
        "{sent}"
    );
}

#[tokio::test]
async fn a_cheaper_spec_serves_only_if_the_key_allows_it() {
    for (models, status) in [("[\"up/*\"]", 200), ("[\"up/m\"]", 429)] {
        let upstream = Upstream::start([answer()]).await;
        let key = format!(
            "[[keys]]\nname = \"k\"\nkey = \"CANARY-of-the-client\"\nmodels = {models}\n\
             budget = {{ day = \"0.01 USD\" }}\nwhen_exhausted = \"spec:up/cheap\"\n"
        );
        let server = TestGateway::start(&config(&upstream, &key)).await;
        let bearer = [("authorization", "Bearer CANARY-of-the-client")];
        let response = server.request("/v1/chat/completions", &bearer, CHAT).await;
        assert_eq!(response.status, status, "{models}: {}", response.text());
        if status == 200 {
            assert_eq!(response.header("x-majordomo-target"), Some("up/cheap"));
            let changes = response.header("x-majordomo-changes").unwrap();
            assert!(changes.contains("model replaced"), "{changes}");
        } else {
            assert_eq!(upstream.requests().len(), 0);
        }
    }
}

#[tokio::test]
async fn a_stream_is_refused_with_a_status_or_served_by_the_cheaper_spec() {
    let events = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"}}]}\n\n\
                  data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
                  data: [DONE]\n\n";
    let stream = Script::new()
        .read_request()
        .respond(200, "text/event-stream", events);
    for (when, status) in [("refuse", 429), ("spec:up/cheap", 200)] {
        let upstream = Upstream::start([stream.clone()]).await;
        let limits =
            format!("[limits]\nbudget = {{ day = \"0.01 USD\" }}\nwhen_exhausted = \"{when}\"\n");
        let server = TestGateway::start(&config(&upstream, &limits)).await;
        let body = CHAT.replace("\"messages\"", "\"stream\":true,\"messages\"");
        let response = server.post("/v1/chat/completions", body).await;
        assert_eq!(response.status, status, "{when}: {}", response.text());
        if status == 200 {
            assert_eq!(response.header("x-majordomo-target"), Some("up/cheap"));
            assert!(response.text().contains("[DONE]"), "{}", response.text());
        } else {
            assert_eq!(json(&response)["error"]["code"], "insufficient_quota");
            assert_eq!(response.header("x-should-retry"), Some("false"));
            assert_eq!(upstream.requests().len(), 0);
        }
    }
}

#[tokio::test]
async fn a_stream_holds_its_seat_until_it_ends_or_the_client_leaves() {
    const WITHIN: Duration = Duration::from_secs(10);
    let begun = Script::new()
        .read_request()
        .stream_head()
        .chunk("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"}}]}\n\n")
        .expect_close(WITHIN);
    let upstream = Upstream::start([begun, answer()]).await;
    let limits = "[limits]\nconcurrent = 1\nqueue = \"0s\"\n";
    let server = TestGateway::start(&config(&upstream, limits)).await;
    let body = CHAT.replace("\"messages\"", "\"stream\":true,\"messages\"");
    let client = server.begin("/v1/chat/completions", body.as_bytes()).await;
    upstream.posted(1, WITHIN).await;
    let refused = server.post("/v1/chat/completions", CHAT).await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert!(
        refused.text().contains("1 requests at the same time"),
        "{}",
        refused.text()
    );
    drop(client);
    upstream.closed(0, WITHIN).await;
    let freed = async {
        while server.post("/v1/chat/completions", CHAT).await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(WITHIN, freed).await.unwrap();
}

#[tokio::test]
async fn a_target_that_the_budget_does_not_cover_is_passed_over_for_a_cheaper_one() {
    let upstream = Upstream::start([answer()]).await;
    let limits = "[limits]\nbudget = { day = \"0.01 USD\" }\n";
    let server = TestGateway::start(&config(&upstream, limits)).await;
    let chain = CHAT.replace("up/m", "up/m,up/cheap");
    let served = server.post("/v1/chat/completions", chain).await;
    assert_eq!(served.status, 200, "{}", served.text());
    assert_eq!(served.header("x-majordomo-target"), Some("up/cheap"));
    assert_eq!(served.header("x-majordomo-attempts"), Some("1"));
}

#[tokio::test]
async fn a_watched_budget_serves_and_says_that_it_is_exceeded() {
    let upstream = Upstream::start([answer()]).await;
    let limits = "[limits]\nbudget = { day = \"0.001 USD\" }\nwhen_exhausted = \"warn\"\n";
    let server = TestGateway::start(&config(&upstream, limits)).await;
    let served = server.post("/v1/chat/completions", CHAT).await;
    assert_eq!(served.status, 200, "{}", served.text());
    assert_eq!(
        served.header("x-majordomo-budget-exceeded"),
        Some("global day")
    );
}

#[tokio::test]
async fn a_model_of_unknown_price_is_refused_where_money_is_limited() {
    for (unpriced, status) in [("", 429), ("unpriced = \"allow\"\n", 200)] {
        let upstream = Upstream::start([answer()]).await;
        let limits = format!("[limits]\nbudget = {{ day = \"1 USD\" }}\n{unpriced}");
        let server = TestGateway::start(&config(&upstream, &limits)).await;
        let body = CHAT.replace("up/m", "up/unknown");
        let response = server.post("/v1/chat/completions", body).await;
        assert_eq!(response.status, status, "{}", response.text());
    }
}

#[tokio::test]
async fn what_is_used_is_settled_and_a_failure_without_output_is_free() {
    let no = r#"{"error":{"message":"no"}}"#;
    let failure = Script::new()
        .read_request()
        .respond(500, "application/json", no);
    let upstream = Upstream::start([failure, answer(), answer(), answer()]).await;
    // The bound is 1,000 tokens of output and a few of input: 0.0101 USD at most. The failure
    // is retried and costs nothing, and the responses cost 0.0011 USD each.
    let limits = "[limits]\nbudget = { day = \"0.0125 USD\" }\n";
    let server = TestGateway::start(&config(&upstream, limits)).await;
    let body = CHAT.replace("\"messages\"", "\"max_tokens\":1000,\"messages\"");
    for status in [200, 200, 200, 429, 429] {
        let response = server.post("/v1/chat/completions", body.clone()).await;
        assert_eq!(response.status, status, "{}", response.text());
    }
    assert_eq!(upstream.requests().len(), 4);
}

/// Repeats a request that is refused because PostgreSQL did not reply in time.
async fn ask_postgres(server: &TestGateway, body: &str) -> TestResponse {
    loop {
        let response = server.post("/v1/chat/completions", body.to_owned()).await;
        if response.status != 503 {
            return response;
        }
        assert_eq!(response.header("retry-after"), Some("1"));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test]
async fn budgets_outlive_the_process_in_the_ledgers_store() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("ledger");
    budgets_outlive_the_process(&format!("sqlite://{}", folder.display())).await;
}

#[tokio::test]
async fn budgets_outlive_the_process_in_postgres() {
    if let Some(server) = majordomo_testkit::Postgres::started() {
        budgets_outlive_the_process(&server.database()).await;
    }
}

async fn budgets_outlive_the_process(store: &str) {
    let upstream = Upstream::start([answer(), answer(), answer()]).await;
    let place = format!("store = \"{store}\"");
    let limits = "[limits]\nbudget = { day = \"0.0115 USD\" }\n";
    let config = config(&upstream, limits).replace("store = \"off\"", &place);
    let body = CHAT.replace("\"messages\"", "\"max_tokens\":1000,\"messages\"");
    let ask = async |server: &TestGateway| match store.starts_with("sqlite:") {
        true => server.post("/v1/chat/completions", body.clone()).await,
        false => ask_postgres(server, &body).await,
    };
    let server = TestGateway::start(&config).await;
    for status in [200, 200, 429] {
        let response = ask(&server).await;
        assert_eq!(response.status, status, "{}", response.text());
    }
    server.stop().await;
    let server = TestGateway::start(&config).await;
    let response = ask(&server).await;
    assert_eq!(response.status, 429, "{}", response.text());
    let text = response.text();
    assert!(text.contains("0.0093 of 0.0115 USD"), "{text}");
}

/// Case 3, with two gateways: one budget in PostgreSQL, spent from both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_gateways_spend_at_most_one_budget_in_postgres() {
    let Some(database) = majordomo_testkit::Postgres::started() else {
        return;
    };
    const BUDGET: u64 = 50_000_000;
    const COST: u64 = 100 * 1_000 + 100 * 10_000;
    let upstream = Upstream::start((0..600).map(|_| answer())).await;
    let place = format!("store = \"{}\"", database.database());
    let limits = "[limits]\nbudget = { day = \"0.05 USD\" }\n";
    let config = config(&upstream, limits).replace("store = \"off\"", &place);
    let (a, b) = tokio::join!(TestGateway::start(&config), TestGateway::start(&config));
    let servers = [a, b].map(std::sync::Arc::new);
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..20 {
        let server = servers[client % 2].clone();
        clients.spawn(async move {
            let mut served = 0_u64;
            for _ in 0..10 {
                let body = CHAT.replace("\"messages\"", "\"max_tokens\":100,\"messages\"");
                match ask_postgres(&server, &body).await.status.as_u16() {
                    200 => served += 1,
                    429 => {}
                    status => panic!("{status}"),
                }
            }
            served
        });
    }
    let served: u64 = clients.join_all().await.into_iter().sum();
    let error = served * 100 * 1_000;
    let spent = served * COST;
    println!("{served} of 200 served: {spent} of {BUDGET} nanodollars");
    assert!(spent <= BUDGET + error, "{spent}");
    assert!(spent >= BUDGET / 2, "{spent}");
}
