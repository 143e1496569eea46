//! `GET /api/requests`: recent requests and their outcomes.

use majordomo_testkit::{Script, Upstream};
use majordomo_wire::Protocol;
use serde_json::{Value, json};

use crate::serve::routes::{CONFIG, ask, body, with_image};
use crate::serve::stage::Stage;
use majordomo::Request;

/// Recent requests; waits until this many have ended.
async fn requests(stage: &Stage, count: usize) -> Vec<Value> {
    loop {
        let told = stage.look("/api/requests", &[], b"").await.json();
        let requests = told["requests"].as_array().expect("a list");
        if requests.len() >= count {
            return requests.clone();
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_trace_covers_a_request_from_its_rules_to_its_outcome() {
    let stage = Stage::start(CONFIG).await;
    let long = Request::user("word ".repeat(500)).max_tokens(50);
    let answer = ask(&stage, Protocol::Messages, "long", &long).await;
    let told = requests(&stage, 1).await.remove(0);
    let id = answer.header("x-majordomo-request-id");
    assert_eq!(told["id"].as_str(), id);
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
        assert_eq!(told[field], expected, "{field} of {told}");
    }
    assert_eq!(told["rules"][0]["name"], "long prompts");
    assert_eq!(told["rules"][0]["conditions"][0]["matched"], true);
    let tokens = told["rules"][0]["conditions"][0]["actual"].as_str();
    assert!(tokens.is_some_and(|tokens| tokens.parse::<u64>().is_ok()));
    assert_eq!(told["attempts"][0]["target"], "other/text");
    assert_eq!(told["attempts"][0]["outcome"], "served");
    assert!(told["at"].as_str().is_some_and(|at| at.starts_with("20")));
    assert!(told["took_ms"].as_f64().is_some_and(|took| took > 0.0));
}

#[tokio::test]
async fn descriptions_and_changes_are_traced() {
    let stage = Stage::start(CONFIG).await;
    ask(&stage, Protocol::Chat, "blind", &with_image()).await;
    ask(&stage, Protocol::Chat, "blind", &with_image()).await;
    let told = requests(&stage, 2).await;
    let (second, first) = (&told[0], &told[1]);
    assert_eq!(first["processors"][0]["changes"][0], "image:1 described");
    assert_eq!(first["changes"], json!(["image:1 described"]));
    assert_eq!(first["descriptions"][0]["outcome"], "described");
    assert_eq!(
        first["descriptions"][0]["attempts"][0]["target"],
        "demo/vision"
    );
    assert_eq!(second["changes"], json!(["image:1 described from cache"]));
    assert_eq!(second["descriptions"], json!([]), "nobody was asked");

    let metrics = stage.look("/metrics", &[], b"").await;
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
    let answered = "majordomo_tokens_total{target=\"demo/vision\"";
    assert!(!metrics.text().contains(answered), "they answered nobody");
}

#[tokio::test]
async fn failed_attempts_are_traced_without_conversation_text() {
    let repeats = r#"{"error":{"message":"MARKER-of-a-prompt with CANARY-upstream"}}"#;
    let refuse = |status| {
        Script::new()
            .read_request()
            .answer(status, "application/json", repeats)
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
    let stage = Stage::start(&config).await;
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
    let answer = stage.ask("/v1/chat/completions", &headers, text).await;
    assert_eq!(answer.status, 400);
    let told = requests(&stage, 1).await.remove(0);
    assert_eq!(
        (&told["key"], &told["outcome"]),
        (&json!("laptop"), &json!("failed"))
    );
    let attempts = told["attempts"].as_array().expect("attempts");
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
    let conditions = told["rules"][0]["conditions"]
        .as_array()
        .expect("conditions");
    let actual: Vec<_> = conditions.iter().map(|c| c["actual"].as_str()).collect();
    let hidden = Some("(not kept)");
    assert_eq!(actual, [hidden, hidden, hidden, Some("0")]);
    let told = told.to_string();
    for secret in ["MARKER-of", "CANARY-"] {
        assert!(!told.contains(secret), "{told}");
    }
}

#[tokio::test]
async fn the_configured_number_of_traces_is_kept_and_none_without_a_model() {
    let stage = Stage::start(&format!("[server]\ntraces = 2\n{CONFIG}")).await;
    for model in ["long", "demo/text", "mixed"] {
        ask(
            &stage,
            Protocol::Chat,
            model,
            &Request::user("hi").max_tokens(9),
        )
        .await;
    }
    stage.get("/v1/models").await;
    stage.post("/v1/chat/completions", "{").await;
    let kept = |told: Vec<Value>| -> Vec<String> {
        let models = told.iter().map(|one| one["model"].as_str());
        models
            .map(|model| model.unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(kept(requests(&stage, 2).await), ["mixed", "demo/text"]);

    let silent = Stage::start(&format!("[server]\ntraces = 0\n{CONFIG}")).await;
    ask(
        &silent,
        Protocol::Chat,
        "long",
        &Request::user("hi").max_tokens(9),
    )
    .await;
    assert!(requests(&silent, 0).await.is_empty());
}
