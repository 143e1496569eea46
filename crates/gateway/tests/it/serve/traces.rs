//! `GET /api/requests`: recent requests and their outcomes.

use majordomo_testkit::{Script, Upstream};
use majordomo_wire::Protocol;
use serde_json::{Value, json};

use crate::serve::routes::{CONFIG, body, send_request, with_image};
use crate::serve::test_gateway::TestGateway;
use majordomo::Request;

/// Recent requests; waits until this many have ended.
async fn requests(gateway: &TestGateway, count: usize) -> Vec<Value> {
    loop {
        let reported = gateway
            .send_to_operator("/api/requests", &[], b"")
            .await
            .json();
        let requests = reported["requests"].as_array().expect("a list");
        if requests.len() >= count {
            return requests.clone();
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_trace_covers_a_request_from_its_rules_to_its_outcome() {
    let gateway = TestGateway::start(CONFIG).await;
    let long = Request::user("word ".repeat(500)).max_tokens(50);
    let response = send_request(&gateway, Protocol::Messages, "long", &long).await;
    let reported = requests(&gateway, 1).await.remove(0);
    let id = response.header("x-majordomo-request-id");
    assert_eq!(reported["id"].as_str(), id);
    for (field, expected) in [
        ("key", Value::Null),
        ("dialect", json!("anthropic-messages")),
        ("model", json!("long")),
        ("route", json!("long")),
        ("candidates", json!(["other/text", "demo/text"])),
        ("pick", json!("other/text")),
        ("because", json!("tactic")),
        ("processors", json!([])),
        ("outcome", json!("complete")),
        ("status", json!(200)),
    ] {
        assert_eq!(reported[field], expected, "{field} of {reported}");
    }
    assert_eq!(reported["rules"][0]["name"], "long prompts");
    assert_eq!(reported["rules"][0]["conditions"][0]["matched"], true);
    let tokens = reported["rules"][0]["conditions"][0]["actual"].as_str();
    assert!(tokens.is_some_and(|tokens| tokens.parse::<u64>().is_ok()));
    assert_eq!(reported["attempts"][0]["target"], "other/text");
    assert_eq!(reported["attempts"][0]["outcome"], "served");
    assert!(
        reported["at"]
            .as_str()
            .is_some_and(|at| at.starts_with("20"))
    );
    assert!(reported["took_ms"].as_f64().is_some_and(|took| took > 0.0));
}

#[tokio::test]
async fn descriptions_and_changes_are_traced() {
    let gateway = TestGateway::start(CONFIG).await;
    send_request(&gateway, Protocol::Chat, "blind", &with_image()).await;
    send_request(&gateway, Protocol::Chat, "blind", &with_image()).await;
    let reported = requests(&gateway, 2).await;
    let (second, first) = (&reported[0], &reported[1]);
    assert_eq!(first["processors"][0]["changes"][0], "image:1 described");
    assert_eq!(first["changes"], json!(["image:1 described"]));
    assert_eq!(first["descriptions"][0]["outcome"], "described");
    assert_eq!(
        first["descriptions"][0]["attempts"][0]["target"],
        "demo/vision"
    );
    assert_eq!(second["changes"], json!(["image:1 described from cache"]));
    assert_eq!(second["descriptions"], json!([]), "no describer was called");

    let metrics = gateway.send_to_operator("/metrics", &[], b"").await;
    for line in [
        "majordomo_descriptions_total{target=\"demo/vision\",outcome=\"described\"} 1",
        "majordomo_descriptions_total{outcome=\"cache\"} 1",
    ] {
        assert!(
            metrics.text().lines().any(|l| l == line),
            "{line}: {}",
            metrics.text()
        );
    }
    let tokens = "majordomo_describe_tokens_total{target=\"demo/vision\",kind=\"output\"}";
    assert!(metrics.text().contains(tokens), "{}", metrics.text());
    let responded = "majordomo_tokens_total{target=\"demo/vision\"";
    assert!(!metrics.text().contains(responded), "they answered nobody");
}

#[tokio::test]
async fn failed_attempts_are_traced_without_conversation_text() {
    let repeats = r#"{"error":{"message":"MARKER-of-a-prompt with CANARY-upstream"}}"#;
    let refuse = |status| {
        Script::new()
            .read_request()
            .respond(status, "application/json", repeats)
    };
    let upstream = Upstream::start([refuse(500), refuse(500), refuse(400)]).await;
    let config = format!(
        r#"
[[keys]]
name = "laptop"
key = "CANARY-client"
[providers.up]
kind = "openai"
base_url = "http://{}/v1"
api_key = "CANARY-upstream"
[[routes]]
model = "coder"
services = [ {{ spec = "up/a" }}, {{ spec = "up/b", tier = 1 }} ]
balance = "tier"
[[routes.smart]]
name = "reads the prompt"
when = [
  {{ position = "context_user", op = "contains", value = "MARKER" }},
  {{ position = "latest_user", op = "contains", value = "MARKER" }},
  {{ position = "header", op = "contains", name = "x-secret", value = "CANARY" }},
  {{ position = "images", op = "ge", value = 1 }},
]
services = [ {{ spec = "up/c" }} ]
"#,
        upstream.address()
    );
    let gateway = TestGateway::start(&config).await;
    let body = body(
        Protocol::Chat,
        &Request::user("a MARKER-of-a-prompt"),
        "coder",
    );
    let headers = [
        ("authorization", "Bearer CANARY-client"),
        ("x-secret", "CANARY-header"),
        ("content-type", "application/json"),
    ];
    let text = std::str::from_utf8(&body).expect("text");
    let response = gateway
        .request("/v1/chat/completions", &headers, text)
        .await;
    assert_eq!(response.status, 400);
    let reported = requests(&gateway, 1).await.remove(0);
    assert_eq!(
        (&reported["key"], &reported["outcome"]),
        (&json!("laptop"), &json!("failed"))
    );
    let attempts = reported["attempts"].as_array().expect("attempts");
    let seen: Vec<_> = attempts
        .iter()
        .map(|a| (a["target"].as_str(), a["status"].as_u64()))
        .collect();
    assert_eq!(
        seen,
        [
            (Some("up/a"), Some(500)),
            (Some("up/a"), Some(500)),
            (Some("up/b"), Some(400))
        ]
    );
    let conditions = reported["rules"][0]["conditions"]
        .as_array()
        .expect("conditions");
    let actual: Vec<_> = conditions.iter().map(|c| c["actual"].as_str()).collect();
    let hidden = Some("(not kept)");
    assert_eq!(actual, [hidden, hidden, hidden, Some("0")]);
    let reported = reported.to_string();
    for secret in ["MARKER-of", "CANARY-"] {
        assert!(!reported.contains(secret), "{reported}");
    }
}

#[tokio::test]
async fn the_configured_number_of_traces_is_kept_and_none_without_a_model() {
    let gateway = TestGateway::start(&format!("[server]\ntraces = 2\n{CONFIG}")).await;
    for model in ["long", "demo/text", "mixed"] {
        send_request(
            &gateway,
            Protocol::Chat,
            model,
            &Request::user("hi").max_tokens(9),
        )
        .await;
    }
    gateway.get("/v1/models").await;
    gateway.post("/v1/chat/completions", "{").await;
    let kept = |reported: Vec<Value>| -> Vec<String> {
        let models = reported.iter().map(|one| one["model"].as_str());
        models
            .map(|model| model.unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(kept(requests(&gateway, 2).await), ["mixed", "demo/text"]);

    let silent = TestGateway::start(&format!("[server]\ntraces = 0\n{CONFIG}")).await;
    send_request(
        &silent,
        Protocol::Chat,
        "long",
        &Request::user("hi").max_tokens(9),
    )
    .await;
    assert!(requests(&silent, 0).await.is_empty());
}

#[tokio::test]
async fn a_refused_request_has_a_row_on_the_page_and_pushes_out_no_other() {
    let config = format!("[server]\ntraces = 2\n{CONFIG}");
    let gateway = TestGateway::start(&config).await;
    send_request(
        &gateway,
        Protocol::Chat,
        "long",
        &Request::user("hi").max_tokens(9),
    )
    .await;
    for _ in 0..5 {
        gateway.post("/v1/chat/completions", "{").await;
    }
    let headers = [("accept", "text/html")];
    let page = gateway.send_to_operator("/", &headers, b"").await;
    assert_eq!(page.text().matches("refused unread").count(), 2);
    assert!(page.text().contains(">long</bdi>"), "{}", page.text());
}
